def product_minus(a: int, b: int, c: int) -> int:
    """Return a times b minus c.

    >>> product_minus(100, 2, 3)
    197
    """
    return a * b - c
