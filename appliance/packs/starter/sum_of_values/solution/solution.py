def sum_of_values(data: dict[str, int]) -> int:
    """Return the sum of all values in the dictionary.

    >>> sum_of_values({'a': 1, 'b': 2})
    3
    """
    return sum(data.values())
