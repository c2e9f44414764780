def is_five(n: int) -> bool:
    """Return True if n is 5.

    >>> is_five(15)
    False
    """
