def zeros(n: int) -> list[int]:
    """Return a list of n zeros.

    >>> zeros(3)
    [0, 0, 0]
    """
    return [0] * n
