def text_and_length(text: str) -> list:
    """Return a list of text and the length of text.

    >>> text_and_length('river')
    ['river', 5]
    """
    return [text, len(text)]
