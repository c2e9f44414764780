def reverse_list(items: list) -> list:
    """Return items in reverse order: items[::-1].

    >>> reverse_list([1, 2, 3])
    [3, 2, 1]
    """
