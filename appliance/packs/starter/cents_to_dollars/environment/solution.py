def cents_to_dollars(cents: int) -> float:
    """Convert cents to dollars.

    >>> cents_to_dollars(12)
    0.12
    """
