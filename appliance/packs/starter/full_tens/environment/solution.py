def full_tens(n: int) -> int:
    """Return how many full tens are in n.

    >>> full_tens(10)
    1
    """
