def sum_to(n: int) -> int:
    """Return the sum of all whole numbers from 1 to n.

    >>> sum_to(3)
    6
    """
