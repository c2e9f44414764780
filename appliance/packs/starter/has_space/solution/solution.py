def has_space(text: str) -> bool:
    """Return True if text contains a space.

    >>> has_space('Hello World')
    True
    """
    return ' ' in text
