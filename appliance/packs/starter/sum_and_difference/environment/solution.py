def sum_and_difference(a: int, b: int) -> list[int]:
    """Return a list of a plus b and a minus b.

    >>> sum_and_difference(25, -6)
    [19, 31]
    """
