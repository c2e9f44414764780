def second_largest(numbers: list[int]) -> int:
    """Return the second largest number: sorted(set(numbers))[-2].

    >>> second_largest([3, 9, 5])
    5
    """
