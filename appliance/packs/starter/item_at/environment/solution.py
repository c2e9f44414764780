def item_at(items: list, index: int):
    """Return the item of items at index.

    >>> item_at([1, 'c', 'b', 3], 3)
    3
    """
