def divides(a: int, b: int) -> bool:
    """Return True if a divides b: b % a == 0.

    >>> divides(3, 12)
    True
    """
