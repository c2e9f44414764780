def starts_with_capital(word: str) -> bool:
    """Return True if word starts with a capital letter.

    >>> starts_with_capital('Paris')
    True
    """
    return word[0].isupper()
