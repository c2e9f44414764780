def number_of_digits(n: int) -> int:
    """Return the number of digits of n.

    >>> number_of_digits(99999)
    5
    """
