def is_odd(n: int) -> bool:
    """Return True if n is odd.

    >>> is_odd(3)
    True
    """
