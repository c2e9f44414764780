def average_of_two(a: int, b: int) -> float:
    """Return the average of a and b.

    >>> average_of_two(8, 25)
    16.5
    """
    return (a + b) / 2
