def most_common(items: list):
    """Return the most common item: max(items, key=items.count).

    >>> most_common([1, 2, 2])
    2
    """
