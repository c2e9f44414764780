def capitalized(text: str) -> str:
    """Return text capitalized.

    >>> capitalized('Hello World')
    'Hello world'
    """
    return text.capitalize()
