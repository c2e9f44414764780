def rectangle_perimeter(width: int, height: int) -> int:
    """Return the perimeter: 2 * (width + height).

    >>> rectangle_perimeter(3, 4)
    14
    """
