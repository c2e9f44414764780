def trim(text: str) -> str:
    """Remove the spaces at both ends of text.

    >>> trim('  hi ')
    'hi'
    """
