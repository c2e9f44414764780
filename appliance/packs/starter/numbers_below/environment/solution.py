def numbers_below(n: int) -> list[int]:
    """Return a list of the numbers from 0 to n - 1.

    >>> numbers_below(11)
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    """
