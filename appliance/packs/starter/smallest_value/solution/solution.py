def smallest_value(data: dict[str, int]) -> int:
    """Return the minimum of the values of data.

    >>> smallest_value({'c': 25, 'ann': 100, 'a': 100})
    25
    """
    return min(data.values())
