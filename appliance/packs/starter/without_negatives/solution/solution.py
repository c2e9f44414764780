def without_negatives(numbers: list[int]) -> list[int]:
    """Return the numbers with every negative number replaced by 0.

    >>> without_negatives([1, -2, 3])
    [1, 0, 3]
    """
    return [max(n, 0) for n in numbers]
