def sum_of_values(data: dict[str, int]) -> int:
    """Return the sum of the values: sum(data.values()).

    >>> sum_of_values({'a': 1, 'b': 2})
    3
    """
    return sum(data.values())
