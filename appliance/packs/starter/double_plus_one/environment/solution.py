def double_plus_one(n: int) -> int:
    """Return n times 2 plus 1.

    >>> double_plus_one(-6)
    -11
    """
