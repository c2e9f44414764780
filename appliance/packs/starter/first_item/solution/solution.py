def first_item(items: list):
    """Return the first item of items.

    >>> first_item([2, 1, 0])
    2
    """
    return items[0]
