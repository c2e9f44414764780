def without_first_character(text: str) -> str:
    """Return text without the first character.

    >>> without_first_character('Python')
    'ython'
    """
