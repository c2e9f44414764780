def is_between(n: int, low: int, high: int) -> bool:
    """Return True if low <= n <= high.

    >>> is_between(5, 1, 10)
    True
    """
    return low <= n <= high
