def only_even(numbers: list[int]) -> list[int]:
    """Return a list of the even numbers.

    >>> only_even([1, 2, 3, 4])
    [2, 4]
    """
    return [n for n in numbers if n % 2 == 0]
