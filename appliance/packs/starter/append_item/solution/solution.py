def append_item(items: list, item) -> list:
    """Return items with item at the end: items + [item].

    >>> append_item([1, 2], 3)
    [1, 2, 3]
    """
    return items + [item]
