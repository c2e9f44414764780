def is_positive(n: int) -> bool:
    """Return True if n is greater than 0.

    >>> is_positive(12)
    True
    """
    return n > 0
