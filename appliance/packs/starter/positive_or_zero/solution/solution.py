def positive_or_zero(n: int) -> int:
    """Return n if n is greater than 0, else 0.

    >>> positive_or_zero(25)
    25
    """
    return n if n > 0 else 0
