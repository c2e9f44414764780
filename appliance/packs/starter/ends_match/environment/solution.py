def ends_match(items: list) -> bool:
    """Return True if the first and the last item of items are equal.

    >>> ends_match([5, 6, 5])
    True
    """
