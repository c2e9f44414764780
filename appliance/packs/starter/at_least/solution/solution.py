def at_least(a: int, b: int) -> bool:
    """Return True if a is greater than or equal to b.

    >>> at_least(1, -1)
    True
    """
    return a >= b
