def ticket_price(age: int) -> int:
    """Return 5 if age is under 12, else return 10.

    >>> ticket_price(4)
    5
    """
    return 5 if age < 12 else 10
