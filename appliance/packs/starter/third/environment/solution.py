def third(n: int) -> float:
    """Return n divided by 3.

    >>> third(-1)
    -0.3333333333333333
    """
