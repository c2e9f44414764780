def larger_of_two(a: int, b: int) -> int:
    """Return the larger of a and b.

    >>> larger_of_two(3, 8)
    8
    """
    return max(a, b)
