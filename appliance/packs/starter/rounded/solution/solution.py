def rounded(x: float) -> int:
    """Return x rounded to the nearest integer.

    >>> rounded(-1.2)
    -1
    """
    return round(x)
