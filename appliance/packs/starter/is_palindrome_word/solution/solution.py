def is_palindrome_word(word: str) -> bool:
    """Return True if word.lower() == word.lower()[::-1].

    >>> is_palindrome_word('Level')
    True
    """
    return word.lower() == word.lower()[::-1]
