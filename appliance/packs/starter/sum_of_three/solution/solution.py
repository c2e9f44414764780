def sum_of_three(a: int, b: int, c: int) -> int:
    """Add the three numbers and return the result.

    >>> sum_of_three(1, 2, 3)
    6
    """
    return a + b + c
