def triangle_perimeter(a: int, b: int, c: int, scale: int) -> int:
    """Return the sum of a, b and c, times scale.

    >>> triangle_perimeter(100, 3, 50, 7)
    1071
    """
    return (a + b + c) * scale
