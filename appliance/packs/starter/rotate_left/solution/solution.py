def rotate_left(items: list, k: int) -> list:
    """Move the first k items to the end of the list.

    >>> rotate_left([1, 2, 3], 1)
    [2, 3, 1]
    """
    return items[k:] + items[:k]
