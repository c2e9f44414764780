def countdown(n: int) -> list[int]:
    """Return a list of the numbers from n down to 1.

    >>> countdown(11)
    [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    """
