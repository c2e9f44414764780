def square_number(n: int) -> int:
    """Return n to the power of 2.

    >>> square_number(-6)
    36
    """
