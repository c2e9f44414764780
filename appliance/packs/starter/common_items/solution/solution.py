def common_items(a: list, b: list) -> list:
    """Return the items of a that are in b: [item for item in a if item in b].

    >>> common_items([1, 2, 3], [3, 2])
    [2, 3]
    """
    return [item for item in a if item in b]
