def is_between(n: int, low: int, high: int) -> bool:
    """Return True if n is between low and high, both included.

    >>> is_between(5, 1, 10)
    True
    """
    return low <= n <= high
