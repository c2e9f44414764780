def transpose(rows: list) -> list:
    """Swap the rows and the columns.

    >>> transpose([[1, 2], [3, 4]])
    [[1, 3], [2, 4]]
    """
