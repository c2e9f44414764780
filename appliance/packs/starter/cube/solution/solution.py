def cube(n: int) -> int:
    """Return the cube of n: n ** 3.

    >>> cube(2)
    8
    """
    return n ** 3
