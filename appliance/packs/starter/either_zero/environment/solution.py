def either_zero(a: int, b: int) -> bool:
    """Return True if a or b is zero.

    >>> either_zero(0, 5)
    True
    """
