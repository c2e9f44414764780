def first_character(text: str) -> str:
    """Return the first character of text.

    >>> first_character('tree top')
    't'
    """
