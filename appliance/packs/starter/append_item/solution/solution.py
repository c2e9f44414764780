def append_item(items: list, item) -> list:
    """Return a new list with item added at the end of items.

    >>> append_item([1, 2], 3)
    [1, 2, 3]
    """
    return items + [item]
