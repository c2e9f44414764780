def sorted_numbers(numbers: list[int]) -> list[int]:
    """Return numbers sorted.

    >>> sorted_numbers([7, -1])
    [-1, 7]
    """
    return sorted(numbers)
