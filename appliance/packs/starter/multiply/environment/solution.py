def multiply(a: int, b: int) -> int:
    """Return a times b.

    >>> multiply(-30, 5)
    -150
    """
