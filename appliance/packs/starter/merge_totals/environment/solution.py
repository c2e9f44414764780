def merge_totals(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
    """Merge two dictionaries and add the values of keys that are in both.

    >>> merge_totals({'x': 1}, {'x': 2, 'y': 3})
    {'x': 3, 'y': 3}
    """
