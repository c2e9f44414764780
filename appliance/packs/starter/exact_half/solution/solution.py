def exact_half(n: int) -> int:
    """Return half of n as an integer. Raise ValueError if n is odd.

    >>> exact_half(6)
    3
    """
    if n % 2 != 0:
        raise ValueError("n is odd")
    return n // 2
