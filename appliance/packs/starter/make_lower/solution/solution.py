def make_lower(text: str) -> str:
    """Return text in lower case.

    >>> make_lower('cat')
    'cat'
    """
    return text.lower()
