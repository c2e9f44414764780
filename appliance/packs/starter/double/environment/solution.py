def double(n: int) -> int:
    """Return n times 2.

    >>> double(-1)
    -2
    """
