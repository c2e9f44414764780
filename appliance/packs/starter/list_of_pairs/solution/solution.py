def list_of_pairs(data: dict[str, int]) -> list:
    """Return a list of the items of data.

    >>> list_of_pairs({'x': 1})
    [('x', 1)]
    """
    return list(data.items())
