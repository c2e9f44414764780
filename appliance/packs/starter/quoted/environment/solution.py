def quoted(text: str) -> str:
    """Return text between two double quotes.

    >>> quoted('river')
    '"river"'
    """
