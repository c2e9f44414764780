def cube(n: int) -> int:
    """Return the cube of n.

    >>> cube(2)
    8
    """
