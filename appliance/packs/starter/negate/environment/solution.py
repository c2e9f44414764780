def negate(n: int) -> int:
    """Return n with the opposite sign.

    >>> negate(5)
    -5
    """
