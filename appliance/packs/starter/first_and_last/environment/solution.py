def first_and_last(items: list) -> list:
    """Return a list of the first and the last item.

    >>> first_and_last([1, 2, 3])
    [1, 3]
    """
