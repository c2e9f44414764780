def min_of_three(a: int, b: int, c: int) -> int:
    """Return the minimum of a, b and c.

    >>> min_of_three(8, 3, -4)
    -4
    """
