def swap_pair(a, b) -> tuple:
    """Return a and b as a tuple in reverse order.

    >>> swap_pair(1, 2)
    (2, 1)
    """
