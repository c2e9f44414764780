def is_increasing(numbers: list[int]) -> bool:
    """Return True if the numbers are sorted from small to large.

    >>> is_increasing([1, 2, 3])
    True
    """
    return numbers == sorted(numbers)
