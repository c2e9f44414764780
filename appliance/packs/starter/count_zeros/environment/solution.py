def count_zeros(numbers: list[int]) -> int:
    """Return how often 0 occurs: numbers.count(0).

    >>> count_zeros([0, 1, 0])
    2
    """
