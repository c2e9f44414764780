def count_positive(numbers: list[int]) -> int:
    """Return how many numbers are greater than zero.

    >>> count_positive([1, -2, 3])
    2
    """
    return len([n for n in numbers if n > 0])
