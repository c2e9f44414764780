def reverse_list(items: list) -> list:
    """Return the items in reverse order.

    >>> reverse_list([1, 2, 3])
    [3, 2, 1]
    """
    return items[::-1]
