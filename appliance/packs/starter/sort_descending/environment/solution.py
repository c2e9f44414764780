def sort_descending(numbers: list[int]) -> list[int]:
    """Return the numbers from large to small: sorted(numbers, reverse=True).

    >>> sort_descending([1, 3, 2])
    [3, 2, 1]
    """
