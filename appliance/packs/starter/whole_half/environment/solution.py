def whole_half(n: int) -> int:
    """Return half of n, rounded down: n // 2.

    >>> whole_half(8)
    4
    """
