def without_none(items: list) -> list:
    """Return the items that are not None.

    >>> without_none([1, None, 2])
    [1, 2]
    """
