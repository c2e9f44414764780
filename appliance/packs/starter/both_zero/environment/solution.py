def both_zero(a: int, b: int) -> bool:
    """Return True if a and b are both equal to 0.

    >>> both_zero(5, -1)
    False
    """
