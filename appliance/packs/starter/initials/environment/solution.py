def initials(name: str) -> str:
    """Return the first letters of all words in name.

    >>> initials('Ada Lovelace')
    'AL'
    """
