def is_short_word(word: str) -> bool:
    """Return True if word has fewer than 4 letters.

    >>> is_short_word('Ada')
    True
    """
