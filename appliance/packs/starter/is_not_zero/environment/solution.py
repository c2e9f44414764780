def is_not_zero(n: int) -> bool:
    """Return True if n is not equal to 0.

    >>> is_not_zero(-7)
    True
    """
