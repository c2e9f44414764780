def add_two(a, b):
    """Return the sum of two integers.

    >>> add_two(1, 2)
    3
    """
