def sort_descending(numbers: list[int]) -> list[int]:
    """Return the numbers sorted from large to small.

    >>> sort_descending([1, 3, 2])
    [3, 2, 1]
    """
