def concatenate(a: str, b: str) -> str:
    """Return a followed by b.

    >>> concatenate('a1b2', 'x9')
    'a1b2x9'
    """
    return a + b
