def shipping_cost(total: int) -> int:
    """Return 0 if total is at least 50, else return 5.

    >>> shipping_cost(30)
    5
    """
    return 0 if total >= 50 else 5
