def sum_of_first_two(numbers: list[int]) -> int:
    """Return the first number plus the second number.

    >>> sum_of_first_two([7, 0, 2])
    7
    """
    return numbers[0] + numbers[1]
