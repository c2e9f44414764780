def add_one_to_all(numbers: list[int]) -> list[int]:
    """Return a list of the numbers plus 1.

    >>> add_one_to_all([12, 8, 3, 10, -1, 25])
    [13, 9, 4, 11, 0, 26]
    """
