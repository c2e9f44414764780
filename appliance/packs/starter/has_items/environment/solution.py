def has_items(items: list) -> bool:
    """Return True if the length of items is greater than 0.

    >>> has_items([None])
    True
    """
