def add_numbers(a: int, b: int) -> int:
    """Return a plus b.

    >>> add_numbers(-4, 5)
    1
    """
