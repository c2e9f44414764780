def interleave(a: list, b: list) -> list:
    """Return a list that takes items from a and b in turn.

    >>> interleave([1, 2], [8, 9])
    [1, 8, 2, 9]
    """
    return [item for pair in zip(a, b) for item in pair]
