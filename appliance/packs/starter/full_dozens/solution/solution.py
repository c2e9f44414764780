def full_dozens(eggs: int) -> int:
    """Return how many full dozens the eggs make.

    >>> full_dozens(50)
    4
    """
    return eggs // 12
