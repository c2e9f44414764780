def text_to_number(text: str) -> int:
    """Convert text to an integer.

    >>> text_to_number('42')
    42
    """
    return int(text)
