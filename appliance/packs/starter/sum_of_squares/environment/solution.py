def sum_of_squares(numbers: list[int]) -> int:
    """Return the sum of the squares of the numbers.

    >>> sum_of_squares([1, 2, 3])
    14
    """
