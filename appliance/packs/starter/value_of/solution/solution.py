def value_of(data: dict[str, int], key: str) -> int:
    """Return the value of key in data.

    >>> value_of({'x': 12, 'bob': 3}, 'x')
    12
    """
    return data[key]
