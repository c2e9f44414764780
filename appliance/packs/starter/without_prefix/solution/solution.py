def without_prefix(text: str, prefix: str) -> str:
    """Return text with prefix removed from its start.

    >>> without_prefix('river', 'ri')
    'ver'
    """
    return text.removeprefix(prefix)
