def add_then_multiply(a: int, b: int, c: int) -> int:
    """Return a plus b, times c.

    >>> add_then_multiply(2, -6, 10)
    -40
    """
