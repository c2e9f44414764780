def code_of(letter: str) -> int:
    """Return the code of letter.

    >>> code_of('?')
    63
    """
    return ord(letter)
