def is_prime_number(n: int) -> bool:
    """Return True if n is a prime number.

    >>> is_prime_number(7)
    True
    """
