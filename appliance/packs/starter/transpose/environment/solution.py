def transpose(rows: list) -> list:
    """Return the columns: [list(column) for column in zip(*rows)].

    >>> transpose([[1, 2], [3, 4]])
    [[1, 3], [2, 4]]
    """
