def repeated_item(item, times: int) -> list:
    """Return a list with item repeated the given number of times.

    >>> repeated_item('a', 4)
    ['a', 'a', 'a', 'a']
    """
