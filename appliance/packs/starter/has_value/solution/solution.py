def has_value(data: dict[str, int], value: int) -> bool:
    """Return True if value is in the values of data.

    >>> has_value({'bob': 25, 'c': 8, 'x': -30}, 8)
    True
    """
    return value in data.values()
