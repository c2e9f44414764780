def clamp(n: int, low: int, high: int) -> int:
    """Return n limited to the range from low to high.

    >>> clamp(5, 1, 10)
    5
    """
