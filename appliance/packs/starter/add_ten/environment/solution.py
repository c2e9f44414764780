def add_ten(n: int) -> int:
    """Return n plus 10.

    >>> add_ten(-6)
    4
    """
