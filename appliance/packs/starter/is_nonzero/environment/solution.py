def is_nonzero(n: int) -> bool:
    """Return n as a boolean.

    >>> is_nonzero(-1)
    True
    """
