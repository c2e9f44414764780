def absolute_values(numbers: list[int]) -> list[int]:
    """Return all absolute values: [abs(n) for n in numbers].

    >>> absolute_values([1, -2, 3])
    [1, 2, 3]
    """
    return [abs(n) for n in numbers]
