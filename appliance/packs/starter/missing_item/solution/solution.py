def missing_item(items: list[int], item: int) -> bool:
    """Return True if item is not in items.

    >>> missing_item([0, 4], 7)
    True
    """
    return item not in items
