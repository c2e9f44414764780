def squares_of(numbers: list[int]) -> list[int]:
    """Return a list of the squares of numbers.

    >>> squares_of([1, -4, 2])
    [1, 16, 4]
    """
