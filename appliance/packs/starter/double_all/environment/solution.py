def double_all(numbers: list[int]) -> list[int]:
    """Return a list with each number doubled.

    >>> double_all([1, 2, 3])
    [2, 4, 6]
    """
