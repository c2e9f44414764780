def count_unique(items: list) -> int:
    """Return the number of different items.

    >>> count_unique([1, 2, 2])
    2
    """
    return len(set(items))
