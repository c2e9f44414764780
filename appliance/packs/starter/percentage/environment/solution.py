def percentage(part: int, whole: int) -> float:
    """Return the percentage: part / whole * 100.

    >>> percentage(1, 4)
    25.0
    """
