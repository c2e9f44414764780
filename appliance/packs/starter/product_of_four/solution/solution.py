def product_of_four(a: int, b: int, c: int, d: int) -> int:
    """Return the product of a, b, c and d.

    >>> product_of_four(7, -4, 5, 8)
    -1120
    """
    return a * b * c * d
