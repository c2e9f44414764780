def remainder(a: int, b: int) -> int:
    """Return the remainder of a divided by b.

    >>> remainder(33, 5)
    3
    """
    return a % b
