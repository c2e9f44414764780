def total(numbers: list[int]) -> int:
    """Return the sum of numbers.

    >>> total([1, 2, 3])
    6
    """
    return sum(numbers)
