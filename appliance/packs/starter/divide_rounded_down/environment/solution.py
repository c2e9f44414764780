def divide_rounded_down(a: int, b: int) -> int:
    """Return a divided by b, rounded down to an integer.

    >>> divide_rounded_down(-4, 7)
    -1
    """
