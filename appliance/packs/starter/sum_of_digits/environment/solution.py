def sum_of_digits(n: int) -> int:
    """Return the sum of the digits of n.

    >>> sum_of_digits(123)
    6
    """
