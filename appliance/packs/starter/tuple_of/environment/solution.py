def tuple_of(items: list) -> tuple:
    """Return items as a tuple.

    >>> tuple_of([0, 2, 'a', 'b'])
    (0, 2, 'a', 'b')
    """
