def absolute_difference(a: int, b: int) -> int:
    """Return the absolute difference of a and b.

    >>> absolute_difference(3, 8)
    5
    """
