def middle_character(word: str) -> str:
    """Return the character in the middle of word.

    >>> middle_character('abc')
    'b'
    """
