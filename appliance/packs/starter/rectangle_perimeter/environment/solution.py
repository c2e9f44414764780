def rectangle_perimeter(width: int, height: int) -> int:
    """Return the perimeter of a rectangle.

    >>> rectangle_perimeter(3, 4)
    14
    """
