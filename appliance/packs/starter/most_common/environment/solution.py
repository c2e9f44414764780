def most_common(items: list):
    """Return the item that occurs most often.

    >>> most_common([1, 2, 2])
    2
    """
