def sum_and_product(a: int, b: int) -> tuple:
    """Return the sum and the product: (a + b, a * b).

    >>> sum_and_product(2, 3)
    (5, 6)
    """
    return (a + b, a * b)
