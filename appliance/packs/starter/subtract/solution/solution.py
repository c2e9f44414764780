def subtract(a: int, b: int) -> int:
    """Return a minus b.

    >>> subtract(-1, 25)
    -26
    """
    return a - b
