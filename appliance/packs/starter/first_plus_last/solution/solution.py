def first_plus_last(numbers: list[int]) -> int:
    """Return the first number plus the last number.

    >>> first_plus_last([5, -6, 25, 100, 25])
    30
    """
    return numbers[0] + numbers[-1]
