def last_item(items: list):
    """Return the last item of items.

    >>> last_item([1, 2, 3])
    3
    """
