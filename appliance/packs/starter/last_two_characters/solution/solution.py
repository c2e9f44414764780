def last_two_characters(text: str) -> str:
    """Return the last two characters of text.

    >>> last_two_characters('cat')
    'at'
    """
    return text[-2:]
