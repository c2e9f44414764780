def dotted(a: str, b: str) -> str:
    """Return a and b with a dot between them.

    >>> dotted('Hello World', 'house')
    'Hello World.house'
    """
    return a + "." + b
