def count_positive(numbers: list[int]) -> int:
    """Return how many numbers are positive: len([n for n in numbers if n > 0]).

    >>> count_positive([1, -2, 3])
    2
    """
