def subtract_both(a: int, b: int, c: int) -> int:
    """Return a minus b minus c.

    >>> subtract_both(-30, 5, 3)
    -38
    """
    return a - b - c
