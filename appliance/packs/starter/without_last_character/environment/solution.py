def without_last_character(text: str) -> str:
    """Return text without the last character.

    >>> without_last_character('school')
    'schoo'
    """
