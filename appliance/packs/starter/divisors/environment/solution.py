def divisors(n: int) -> list[int]:
    """Return the divisors of n: [i for i in range(1, n + 1) if n % i == 0].

    >>> divisors(6)
    [1, 2, 3, 6]
    """
