def lines_of(text: str) -> list[str]:
    """Split text into lines.

    >>> lines_of('x\none\none\none')
    ['x', 'one', 'one', 'one']
    """
