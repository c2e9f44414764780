def divisors(n: int) -> list[int]:
    """Return a list of all divisors of n, from 1 to n.

    >>> divisors(6)
    [1, 2, 3, 6]
    """
