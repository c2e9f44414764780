def half(n: int) -> float:
    """Return n divided by 2.

    >>> half(100)
    50.0
    """
    return n / 2
