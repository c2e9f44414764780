def is_single(items: list) -> bool:
    """Return True if the length of items is equal to 1.

    >>> is_single([None])
    True
    """
