def alternating_sum(numbers: list[int]) -> int:
    """Return sum(numbers[::2]) - sum(numbers[1::2]).

    >>> alternating_sum([5, 2, 1])
    4
    """
