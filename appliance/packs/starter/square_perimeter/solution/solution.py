def square_perimeter(side: int) -> int:
    """Return 4 times side.

    >>> square_perimeter(33)
    132
    """
    return 4 * side
