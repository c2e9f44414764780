def sum_to(n: int) -> int:
    """Add up all whole numbers to n: sum(range(1, n + 1)).

    >>> sum_to(3)
    6
    """
    return sum(range(1, n + 1))
