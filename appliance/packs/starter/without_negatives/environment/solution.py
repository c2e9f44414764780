def without_negatives(numbers: list[int]) -> list[int]:
    """Return numbers with negatives set to 0: [max(n, 0) for n in numbers].

    >>> without_negatives([1, -2, 3])
    [1, 0, 3]
    """
