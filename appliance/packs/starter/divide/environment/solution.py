def divide(a: int, b: int) -> float:
    """Return a divided by b.

    >>> divide(-30, 3)
    -10.0
    """
