def max_of_three(a: int, b: int, c: int) -> int:
    """Return the maximum of a, b and c.

    >>> max_of_three(12, 7, 8)
    12
    """
    return max(a, b, c)
