def is_empty_list(items: list) -> bool:
    """Return True if items is empty.

    >>> is_empty_list([])
    True
    """
    return len(items) == 0
