def tax(price: int, rate: int) -> float:
    """Return price times rate divided by 100.

    >>> tax(5, 20)
    1.0
    """
    return price * rate / 100
