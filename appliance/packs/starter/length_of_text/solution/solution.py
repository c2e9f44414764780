def length_of_text(text: str) -> int:
    """Return the length of text.

    >>> length_of_text('Ada')
    3
    """
    return len(text)
