def sum_times_two(numbers: list[int]) -> int:
    """Return the sum of numbers times 2.

    >>> sum_times_two([3, -6])
    -6
    """
    return sum(numbers) * 2
