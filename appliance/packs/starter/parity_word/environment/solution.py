def parity_word(n: int) -> str:
    """Return "even" if n is even and "odd" if n is odd.

    >>> parity_word(4)
    'even'
    """
