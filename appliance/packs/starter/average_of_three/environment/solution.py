def average_of_three(a: int, b: int, c: int) -> float:
    """Return the average of a, b and c.

    >>> average_of_three(8, 2, 5)
    5.0
    """
