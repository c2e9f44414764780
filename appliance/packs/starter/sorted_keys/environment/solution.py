def sorted_keys(data: dict[str, int]) -> list[str]:
    """Return a sorted list of the keys of data.

    >>> sorted_keys({'c': 12, 'a': -4, 'x': 10})
    ['a', 'c', 'x']
    """
