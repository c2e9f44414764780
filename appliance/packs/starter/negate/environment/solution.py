def negate(n: int) -> int:
    """Return n with the opposite sign: -n.

    >>> negate(5)
    -5
    """
