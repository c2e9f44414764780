def only_even(numbers: list[int]) -> list[int]:
    """Return the even numbers: [n for n in numbers if n % 2 == 0].

    >>> only_even([1, 2, 3, 4])
    [2, 4]
    """
    return [n for n in numbers if n % 2 == 0]
