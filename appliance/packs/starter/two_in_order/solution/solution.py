def two_in_order(a: int, b: int) -> list[int]:
    """Return a sorted list of a and b.

    >>> two_in_order(-1, 8)
    [-1, 8]
    """
    return sorted([a, b])
