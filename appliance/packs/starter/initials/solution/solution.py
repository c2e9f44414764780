def initials(name: str) -> str:
    """Return the first letters of all words in name.

    >>> initials('Ada Lovelace')
    'AL'
    """
    return "".join(word[0] for word in name.split())
