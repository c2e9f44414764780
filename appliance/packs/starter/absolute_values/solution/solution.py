def absolute_values(numbers: list[int]) -> list[int]:
    """Return a list of the absolute values of the numbers.

    >>> absolute_values([1, -2, 3])
    [1, 2, 3]
    """
    return [abs(n) for n in numbers]
