def numbers_up_to(n: int) -> list[int]:
    """Return a list of the numbers from 1 to n.

    >>> numbers_up_to(3)
    [1, 2, 3]
    """
