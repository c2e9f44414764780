def is_all_letters(text: str) -> bool:
    """Return True if text is made of letters only.

    >>> is_all_letters('Hello')
    True
    """
    return text.isalpha()
