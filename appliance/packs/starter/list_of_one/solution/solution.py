def list_of_one(item) -> list:
    """Return a list that holds item.

    >>> list_of_one(-3)
    [-3]
    """
    return [item]
