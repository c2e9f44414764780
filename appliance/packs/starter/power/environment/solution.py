def power(a: int, b: int) -> int:
    """Return a to the power of b.

    >>> power(25, 2)
    625
    """
