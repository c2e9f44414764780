def double_and_triple(n: int) -> list[int]:
    """Return a list of n times 2 and n times 3.

    >>> double_and_triple(25)
    [50, 75]
    """
