def number_of_keys(data: dict) -> int:
    """Return how many keys the dict data has.

    >>> number_of_keys({'a': 1, 'b': 2})
    2
    """
