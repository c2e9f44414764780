def total_price(price: int, quantity: int) -> int:
    """Return price times quantity.

    >>> total_price(12, 4)
    48
    """
    return price * quantity
