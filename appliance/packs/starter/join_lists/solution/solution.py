def join_lists(a: list, b: list) -> list:
    """Return a list of the items of a followed by the items of b.

    >>> join_lists(['b'], ['a', 'b', 'a', 'a'])
    ['b', 'a', 'b', 'a', 'a']
    """
    return a + b
