def second_largest(numbers: list[int]) -> int:
    """Return the second largest of the different numbers.

    >>> second_largest([3, 9, 5])
    5
    """
    return sorted(set(numbers))[-2]
