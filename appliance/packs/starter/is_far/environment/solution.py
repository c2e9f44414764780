def is_far(a: int, b: int) -> bool:
    """Return True if a and b are more than 10 apart.

    >>> is_far(3, 20)
    True
    """
