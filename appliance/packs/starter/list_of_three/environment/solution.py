def list_of_three(a, b, c) -> list:
    """Return a list of a, b and c.

    >>> list_of_three(-3, 'word', 'a')
    [-3, 'word', 'a']
    """
