def is_empty_text(text: str) -> bool:
    """Return True if text is empty.

    >>> is_empty_text('')
    True
    """
    return text == ""
