def only_even(numbers: list[int]) -> list[int]:
    """Return a list of the even numbers.

    >>> only_even([1, 2, 3, 4])
    [2, 4]
    """
