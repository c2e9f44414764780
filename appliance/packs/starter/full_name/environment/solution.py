def full_name(first: str, last: str) -> str:
    """Return the first and the last name with a space between them.

    >>> full_name('Ada', 'Lovelace')
    'Ada Lovelace'
    """
