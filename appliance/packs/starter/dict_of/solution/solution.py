def dict_of(pairs: list) -> dict:
    """Return a dictionary made from pairs.

    >>> dict_of([['bob', -30], ['a', -4]])
    {'bob': -30, 'a': -4}
    """
    return dict(pairs)
