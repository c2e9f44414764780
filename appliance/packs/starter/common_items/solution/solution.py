def common_items(a: list, b: list) -> list:
    """Return a list of the items of a that are also in b.

    >>> common_items([1, 2, 3], [3, 2])
    [2, 3]
    """
    return [item for item in a if item in b]
