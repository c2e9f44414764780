def dollars_to_cents(dollars: int) -> int:
    """Convert dollars to cents.

    >>> dollars_to_cents(100)
    10000
    """
    return dollars * 100
