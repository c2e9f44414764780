def change_due(price: int, paid: int) -> int:
    """Return the change: paid - price.

    >>> change_due(7, 10)
    3
    """
    return paid - price
