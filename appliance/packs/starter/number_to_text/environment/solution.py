def number_to_text(n: int) -> str:
    """Return n as a string: str(n).

    >>> number_to_text(42)
    '42'
    """
