def has_duplicates(items: list) -> bool:
    """Return True if any item occurs more than once.

    >>> has_duplicates([1, 2, 1])
    True
    """
