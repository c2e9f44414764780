def parity_word(n: int) -> str:
    """Return "even" if n % 2 == 0 else "odd".

    >>> parity_word(4)
    'even'
    """
