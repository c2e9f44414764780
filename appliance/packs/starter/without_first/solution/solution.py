def without_first(items: list) -> list:
    """Return all items except the first.

    >>> without_first([1, 2, 3])
    [2, 3]
    """
    return items[1:]
