def greater_than(a: int, b: int) -> bool:
    """Return True if a is greater than b.

    >>> greater_than(2, -7)
    True
    """
    return a > b
