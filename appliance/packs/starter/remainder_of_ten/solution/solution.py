def remainder_of_ten(n: int) -> bool:
    """Return True if the remainder of n divided by 10 is 0.

    >>> remainder_of_ten(50)
    True
    """
    return n % 10 == 0
