def last_digit(n: int) -> int:
    """Return the last digit of n.

    >>> last_digit(123)
    3
    """
