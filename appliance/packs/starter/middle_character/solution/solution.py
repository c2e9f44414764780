def middle_character(word: str) -> str:
    """Return the middle character: word[len(word) // 2].

    >>> middle_character('abc')
    'b'
    """
    return word[len(word) // 2]
