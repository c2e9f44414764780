def interleave(a: list, b: list) -> list:
    """Take items of a and b in turn: [item for pair in zip(a, b) for item in pair].

    >>> interleave([1, 2], [8, 9])
    [1, 8, 2, 9]
    """
    return [item for pair in zip(a, b) for item in pair]
