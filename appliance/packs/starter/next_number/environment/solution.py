def next_number(n: int) -> int:
    """Return the number that follows n.

    >>> next_number(4)
    5
    """
