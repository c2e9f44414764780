def square(n: int) -> int:
    """Return the square of n.

    >>> square(3)
    9
    """
