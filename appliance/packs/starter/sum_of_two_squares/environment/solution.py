def sum_of_two_squares(a: int, b: int) -> int:
    """Return the sum of the squares of a and b.

    >>> sum_of_two_squares(-30, 3)
    909
    """
