def is_multiple_of_three(n: int) -> bool:
    """Return True if n is divisible by 3.

    >>> is_multiple_of_three(-30)
    True
    """
    return n % 3 == 0
