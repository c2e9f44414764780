def is_prime_number(n: int) -> bool:
    """Return True if n is a prime number.

    >>> is_prime_number(7)
    True
    """
    if n < 2:
        return False
    for i in range(2, n):
        if n % i == 0:
            return False
    return True
