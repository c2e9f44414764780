def alternating_sum(numbers: list[int]) -> int:
    """Add the first number, subtract the second, add the third, and so on.

    >>> alternating_sum([5, 2, 1])
    4
    """
