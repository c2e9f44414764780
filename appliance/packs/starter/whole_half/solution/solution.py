def whole_half(n: int) -> int:
    """Return half of n, rounded down to an integer.

    >>> whole_half(8)
    4
    """
    return n // 2
