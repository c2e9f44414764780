def is_long_text(text: str) -> bool:
    """Return True if the length of text is greater than 5.

    >>> is_long_text('Hello World')
    True
    """
    return len(text) > 5
