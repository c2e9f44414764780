def divides(a: int, b: int) -> bool:
    """Return True if b is divisible by a.

    >>> divides(3, 12)
    True
    """
    return b % a == 0
