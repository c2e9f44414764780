def running_totals(numbers: list[int]) -> list[int]:
    """Return the list of running sums of numbers.

    >>> running_totals([1, 2, 3])
    [1, 3, 6]
    """
