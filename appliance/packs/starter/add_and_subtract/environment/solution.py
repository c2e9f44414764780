def add_and_subtract(a: int, b: int, c: int) -> int:
    """Return a plus b minus c.

    >>> add_and_subtract(-30, -6, 8)
    -44
    """
