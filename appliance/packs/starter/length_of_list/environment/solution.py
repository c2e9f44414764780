def length_of_list(items: list) -> int:
    """Return the length of items.

    >>> length_of_list([3, 'a', 3])
    3
    """
