def initials(name: str) -> str:
    """Return "".join(word[0] for word in name.split()).

    >>> initials('Ada Lovelace')
    'AL'
    """
