def clamp(n: int, low: int, high: int) -> int:
    """Return max(low, min(n, high)).

    >>> clamp(5, 1, 10)
    5
    """
