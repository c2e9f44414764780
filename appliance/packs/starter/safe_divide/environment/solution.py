def safe_divide(a: int, b: int) -> float | None:
    """Return a / b, or None if b == 0.

    >>> safe_divide(6, 3)
    2.0
    """
