def sum_of_four(a: int, b: int, c: int, d: int) -> int:
    """Return the sum of a, b, c and d.

    >>> sum_of_four(-6, 100, -1, 5)
    98
    """
    return a + b + c + d
