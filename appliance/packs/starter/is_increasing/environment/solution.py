def is_increasing(numbers: list[int]) -> bool:
    """Return True if numbers == sorted(numbers).

    >>> is_increasing([1, 2, 3])
    True
    """
