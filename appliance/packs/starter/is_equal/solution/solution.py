def is_equal(a: int, b: int) -> bool:
    """Return True if a is equal to b.

    >>> is_equal(2, 5)
    False
    """
    return a == b
