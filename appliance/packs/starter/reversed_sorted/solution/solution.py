def reversed_sorted(numbers: list[int]) -> list[int]:
    """Return the sorted numbers in reverse order.

    >>> reversed_sorted([2, 100])
    [100, 2]
    """
    return sorted(numbers)[::-1]
