def is_number_text(text: str) -> bool:
    """Return True if text is made of digits.

    >>> is_number_text('7')
    True
    """
