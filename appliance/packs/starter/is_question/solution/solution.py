def is_question(text: str) -> bool:
    """Return True if text ends with "?".

    >>> is_question('Why?')
    True
    """
    return text.endswith("?")
