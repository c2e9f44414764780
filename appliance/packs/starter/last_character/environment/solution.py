def last_character(text: str) -> str:
    """Return the last character of text.

    >>> last_character('Ada')
    'a'
    """
