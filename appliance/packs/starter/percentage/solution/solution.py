def percentage(part: int, whole: int) -> float:
    """Return how many percent of whole the part is.

    >>> percentage(1, 4)
    25.0
    """
    return part / whole * 100
