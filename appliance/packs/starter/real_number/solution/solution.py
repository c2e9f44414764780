def real_number(n: int) -> float:
    """Return n as a float.

    >>> real_number(25)
    25.0
    """
    return float(n)
