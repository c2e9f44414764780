def price_after_discount(price: int, discount: int) -> int:
    """Return price minus discount.

    >>> price_after_discount(12, 10)
    2
    """
