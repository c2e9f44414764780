def first_three(text: str) -> str:
    """Return the first three characters of text.

    >>> first_three('python')
    'pyt'
    """
    return text[:3]
