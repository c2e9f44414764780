def spaces_to_dashes(text: str) -> str:
    """Replace the spaces in text with dashes.

    >>> spaces_to_dashes('a b')
    'a-b'
    """
    return text.replace(" ", "-")
