def exact_half(n: int) -> int:
    """Return n // 2. Raise ValueError if n is odd.

    >>> exact_half(6)
    3
    """
