def swap_pair(a, b) -> tuple:
    """Return the tuple (b, a).

    >>> swap_pair(1, 2)
    (2, 1)
    """
