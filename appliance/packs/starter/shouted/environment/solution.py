def shouted(text: str) -> str:
    """Return text in upper case followed by "!".

    >>> shouted('tree top')
    'TREE TOP!'
    """
