def safe_ratio(a, b):
    """Return a / b as a float; a zero b raises ValueError.

    >>> safe_ratio(1, 2)
    0.5
    """
    if b == 0:
        raise ValueError("b is zero")
    return a / b
