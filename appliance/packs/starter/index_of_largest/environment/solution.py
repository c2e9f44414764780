def index_of_largest(numbers: list[int]) -> int:
    """Return the index of the largest number.

    >>> index_of_largest([3, 9, 5])
    1
    """
