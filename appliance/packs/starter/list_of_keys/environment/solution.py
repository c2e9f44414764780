def list_of_keys(data: dict[str, int]) -> list[str]:
    """Return a list of the keys of data.

    >>> list_of_keys({'x': 2})
    ['x']
    """
