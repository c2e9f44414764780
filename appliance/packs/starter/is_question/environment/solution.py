def is_question(text: str) -> bool:
    """Return True if text ends with a question mark.

    >>> is_question('Why?')
    True
    """
