def upper_first(word: str) -> str:
    """Return the first letter of word in upper case.

    >>> upper_first('Hello World')
    'H'
    """
    return word[0].upper()
