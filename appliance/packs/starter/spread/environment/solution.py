def spread(numbers: list[int]) -> int:
    """Return the difference between the largest and the smallest number.

    >>> spread([3, 9, 5])
    6
    """
