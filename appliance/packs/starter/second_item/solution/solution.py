def second_item(items: list):
    """Return the second item of items.

    >>> second_item(['a', 'b', 1])
    'b'
    """
    return items[1]
