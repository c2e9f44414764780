def trim(text: str) -> str:
    """Return text without spaces at the ends: text.strip().

    >>> trim('  hi ')
    'hi'
    """
