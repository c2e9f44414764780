def count_zeros(numbers: list[int]) -> int:
    """Return how often 0 occurs in numbers.

    >>> count_zeros([0, 1, 0])
    2
    """
