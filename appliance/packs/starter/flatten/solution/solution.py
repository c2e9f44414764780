def flatten(rows: list) -> list:
    """Flatten a list of lists into one list.

    >>> flatten([[1, 2], [3]])
    [1, 2, 3]
    """
    return [item for row in rows for item in row]
