def set_of(items: list[int]) -> set[int]:
    """Return the set of items.

    >>> set_of([-1, -4, 3, 5])
    {3, -4, 5, -1}
    """
