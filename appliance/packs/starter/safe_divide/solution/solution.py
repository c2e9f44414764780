def safe_divide(a: int, b: int) -> float | None:
    """Return a divided by b, or None if b is zero.

    >>> safe_divide(6, 3)
    2.0
    """
    if b == 0:
        return None
    return a / b
