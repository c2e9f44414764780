def cube_volume(side: int) -> int:
    """Return side times side times side.

    >>> cube_volume(50)
    125000
    """
    return side * side * side
