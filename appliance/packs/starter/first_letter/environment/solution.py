def first_letter(word: str) -> str:
    """Return the first letter of word.

    >>> first_letter('apple')
    'a'
    """
