def has_text(text: str) -> bool:
    """Return True if text is not empty.

    >>> has_text('Hello')
    True
    """
    return text != ""
