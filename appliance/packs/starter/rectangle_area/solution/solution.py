def rectangle_area(width: int, height: int) -> int:
    """Return the area of a rectangle.

    >>> rectangle_area(3, 4)
    12
    """
    return width * height
