def mean(numbers: list[int]) -> float:
    """Return the arithmetic mean of the numbers.

    >>> mean([1, 2, 3])
    2.0
    """
    return sum(numbers) / len(numbers)
