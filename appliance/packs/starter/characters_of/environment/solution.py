def characters_of(text: str) -> list[str]:
    """Return a list of the characters of text.

    >>> characters_of('a1b2')
    ['a', '1', 'b', '2']
    """
