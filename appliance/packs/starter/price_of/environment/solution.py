def price_of(prices: dict[str, int], name: str) -> int:
    """Return the price of name, or 0 if it has no price.

    >>> price_of({'tea': 3}, 'tea')
    3
    """
