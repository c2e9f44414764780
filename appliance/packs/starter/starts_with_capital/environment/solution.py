def starts_with_capital(word: str) -> bool:
    """Return True if word[0].isupper().

    >>> starts_with_capital('Paris')
    True
    """
