def is_teenager(age: int) -> bool:
    """Return True if age is between 13 and 19.

    >>> is_teenager(16)
    True
    """
