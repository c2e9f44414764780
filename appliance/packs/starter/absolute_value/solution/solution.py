def absolute_value(n: int) -> int:
    """Return the absolute value of n.

    >>> absolute_value(12)
    12
    """
    return abs(n)
