def to_integer(x: float) -> int:
    """Return x as an integer.

    >>> to_integer(7.0)
    7
    """
