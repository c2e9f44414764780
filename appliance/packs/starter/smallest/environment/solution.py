def smallest(numbers: list[int]) -> int:
    """Return the smallest number.

    >>> smallest([3, 1, 2])
    1
    """
