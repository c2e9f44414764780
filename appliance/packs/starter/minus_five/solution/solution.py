def minus_five(n: int) -> int:
    """Return n minus 5.

    >>> minus_five(-6)
    -11
    """
    return n - 5
