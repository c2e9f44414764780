def is_palindrome_word(word: str) -> bool:
    """Return True if word reads the same backwards, ignoring case.

    >>> is_palindrome_word('Level')
    True
    """
    return word.lower() == word.lower()[::-1]
