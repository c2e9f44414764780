def spread(numbers: list[int]) -> int:
    """Return the largest number minus the smallest: max(numbers) - min(numbers).

    >>> spread([3, 9, 5])
    6
    """
    return max(numbers) - min(numbers)
