def less_than(a: int, b: int) -> bool:
    """Return True if a is less than b.

    >>> less_than(2, 5)
    True
    """
