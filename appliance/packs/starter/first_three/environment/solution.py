def first_three(text: str) -> str:
    """Return the first three characters: text[:3].

    >>> first_three('python')
    'pyt'
    """
