def starts_with(text: str, prefix: str) -> bool:
    """Return True if text starts with prefix.

    >>> starts_with('school', 's')
    True
    """
    return text.startswith(prefix)
