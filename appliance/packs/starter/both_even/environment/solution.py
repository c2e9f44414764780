def both_even(a: int, b: int) -> bool:
    """Return True if both a and b are even.

    >>> both_even(2, 6)
    True
    """
