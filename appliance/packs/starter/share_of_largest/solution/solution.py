def share_of_largest(numbers: list[int], n: int) -> float:
    """Return the maximum of numbers divided by n.

    >>> share_of_largest([8, 5], 10)
    0.8
    """
    return max(numbers) / n
