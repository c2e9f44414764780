def sum_without_largest(numbers: list[int]) -> int:
    """Return the sum of numbers minus the maximum of numbers.

    >>> sum_without_largest([0, -30, 10, 8, 3])
    -19
    """
    return sum(numbers) - max(numbers)
