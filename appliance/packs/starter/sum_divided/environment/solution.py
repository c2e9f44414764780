def sum_divided(numbers: list[int], n: int) -> float:
    """Return the sum of numbers divided by n.

    >>> sum_divided([12, 1, 100, 10], 3)
    41.0
    """
