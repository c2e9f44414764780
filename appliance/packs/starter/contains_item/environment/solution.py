def contains_item(items: list[int], item: int) -> bool:
    """Return True if item is in items.

    >>> contains_item([-2, 5, 1, 1], 5)
    True
    """
