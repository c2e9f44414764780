def double_all(numbers: list[int]) -> list[int]:
    """Return all numbers doubled: [n * 2 for n in numbers].

    >>> double_all([1, 2, 3])
    [2, 4, 6]
    """
