def copied_twice(items: list) -> list:
    """Return a list with the items of items, followed by the same items again.

    >>> copied_twice([True, 'b', 'a', 1, 0])
    [True, 'b', 'a', 1, 0, True, 'b', 'a', 1, 0]
    """
    return items + items
