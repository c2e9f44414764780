def not_equal(a: int, b: int) -> bool:
    """Return True if a is not equal to b.

    >>> not_equal(-1, 5)
    True
    """
