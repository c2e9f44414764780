def spaces_to_dashes(text: str) -> str:
    """Replace spaces with dashes: text.replace(" ", "-").

    >>> spaces_to_dashes('a b')
    'a-b'
    """
