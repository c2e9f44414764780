def has_duplicates(items: list) -> bool:
    """Return True if len(items) != len(set(items)).

    >>> has_duplicates([1, 2, 1])
    True
    """
    return len(items) != len(set(items))
