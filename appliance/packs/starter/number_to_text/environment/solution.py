def number_to_text(n: int) -> str:
    """Convert the number n to a string.

    >>> number_to_text(42)
    '42'
    """
