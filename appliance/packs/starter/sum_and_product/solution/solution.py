def sum_and_product(a: int, b: int) -> tuple:
    """Return a tuple of the sum and the product of a and b.

    >>> sum_and_product(2, 3)
    (5, 6)
    """
    return (a + b, a * b)
