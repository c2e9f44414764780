def unique_sorted(numbers: list[int]) -> list[int]:
    """Return a sorted list of the unique numbers.

    >>> unique_sorted([-30, 0, 1])
    [-30, 0, 1]
    """
