def with_extension(name: str) -> str:
    """Return name with ".txt" added at the end.

    >>> with_extension('notes')
    'notes.txt'
    """
    return name + ".txt"
