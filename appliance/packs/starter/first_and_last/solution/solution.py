def first_and_last(items: list) -> list:
    """Return the first and the last item: [items[0], items[-1]].

    >>> first_and_last([1, 2, 3])
    [1, 3]
    """
    return [items[0], items[-1]]
