def multiply_and_add(a: int, b: int, c: int) -> int:
    """Return a times b plus c.

    >>> multiply_and_add(2, 10, -4)
    16
    """
