def product_of_three(a: int, b: int, c: int) -> int:
    """Return the product of a, b and c.

    >>> product_of_three(2, 3, 4)
    24
    """
