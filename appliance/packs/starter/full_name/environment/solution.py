def full_name(first: str, last: str) -> str:
    """Return the full name: first + " " + last.

    >>> full_name('Ada', 'Lovelace')
    'Ada Lovelace'
    """
