def square_area(side: int) -> int:
    """Return side times side.

    >>> square_area(20)
    400
    """
