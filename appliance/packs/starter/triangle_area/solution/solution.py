def triangle_area(base: int, height: int) -> float:
    """Return the area of a triangle.

    >>> triangle_area(4, 3)
    6.0
    """
    return base * height / 2
