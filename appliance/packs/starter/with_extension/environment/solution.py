def with_extension(name: str) -> str:
    """Return the file name: name + ".txt".

    >>> with_extension('notes')
    'notes.txt'
    """
