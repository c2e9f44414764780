def triple(n: int) -> int:
    """Return n times 3.

    >>> triple(100)
    300
    """
    return n * 3
