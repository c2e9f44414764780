def is_blank(text: str) -> bool:
    """Return True if text is made of spaces only.

    >>> is_blank('     ')
    True
    """
    return text.isspace()
