def is_even(n: int) -> bool:
    """Return True if n is even.

    >>> is_even(-6)
    True
    """
    return n % 2 == 0
