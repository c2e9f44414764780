def copy_of(items: list) -> list:
    """Return a copy of items.

    >>> copy_of([True, 'b', 'a', 1, 0])
    [True, 'b', 'a', 1, 0]
    """
