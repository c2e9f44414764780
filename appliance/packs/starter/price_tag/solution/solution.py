def price_tag(price: int) -> str:
    """Return "$" followed by the price.

    >>> price_tag(10)
    '$10'
    """
    return "$" + str(price)
