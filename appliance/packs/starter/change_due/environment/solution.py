def change_due(price: int, paid: int) -> int:
    """Return how much money is left of paid after paying the price.

    >>> change_due(7, 10)
    3
    """
