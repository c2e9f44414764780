def is_zero(n: int) -> bool:
    """Return True if n is equal to 0.

    >>> is_zero(-1)
    False
    """
    return n == 0
