def flatten(rows: list) -> list:
    """Return all items of all rows: [item for row in rows for item in row].

    >>> flatten([[1, 2], [3]])
    [1, 2, 3]
    """
    return [item for row in rows for item in row]
