def last_digit(n: int) -> int:
    """Return the last digit of n: n % 10.

    >>> last_digit(123)
    3
    """
    return n % 10
