def largest_value(data: dict[str, int]) -> int:
    """Return the largest value: max(data.values()).

    >>> largest_value({'a': 1, 'b': 2})
    2
    """
