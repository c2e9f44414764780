def numbers_between(a: int, b: int) -> list[int]:
    """Return a list of the numbers from a to b - 1.

    >>> numbers_between(6, 7)
    [6]
    """
