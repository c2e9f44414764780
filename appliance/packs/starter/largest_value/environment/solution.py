def largest_value(data: dict[str, int]) -> int:
    """Return the largest value in the dictionary.

    >>> largest_value({'a': 1, 'b': 2})
    2
    """
