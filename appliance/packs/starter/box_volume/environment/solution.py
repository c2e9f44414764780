def box_volume(width: int, height: int, depth: int) -> int:
    """Return the product of width, height and depth.

    >>> box_volume(5, 100, 50)
    25000
    """
