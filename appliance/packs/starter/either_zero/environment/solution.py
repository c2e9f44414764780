def either_zero(a: int, b: int) -> bool:
    """Return True if a == 0 or b == 0.

    >>> either_zero(0, 5)
    True
    """
