def min_of_two(a: int, b: int) -> int:
    """Return the minimum of a and b.

    >>> min_of_two(3, 8)
    3
    """
