def list_of_two(a, b) -> list:
    """Return a list of a and b.

    >>> list_of_two(None, -3)
    [None, -3]
    """
