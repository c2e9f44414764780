def contains_word(text: str, word: str) -> bool:
    """Return True if word is in text.

    >>> contains_word('a red car', 'red')
    True
    """
