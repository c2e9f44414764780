def next_number(n: int) -> int:
    """Return the next number: n + 1.

    >>> next_number(4)
    5
    """
