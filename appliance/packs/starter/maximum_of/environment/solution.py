def maximum_of(numbers: list[int]) -> int:
    """Return the maximum of numbers.

    >>> maximum_of([10, 5])
    10
    """
