def count_larger(numbers: list[int], limit: int) -> int:
    """Return how many numbers are larger than limit.

    >>> count_larger([1, 5, 9], 4)
    2
    """
