def position_of(items: list, value) -> int:
    """Return the index of value in items.

    >>> position_of([5, 8, 9], 8)
    1
    """
