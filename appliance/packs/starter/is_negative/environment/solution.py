def is_negative(n: int) -> bool:
    """Return True if n is less than zero.

    >>> is_negative(-2)
    True
    """
