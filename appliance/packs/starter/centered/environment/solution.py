def centered(text: str, width: int) -> str:
    """Return text centered in the given width.

    >>> centered('school', 7)
    ' school'
    """
