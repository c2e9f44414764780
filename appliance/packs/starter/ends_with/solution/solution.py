def ends_with(text: str, suffix: str) -> bool:
    """Return True if text ends with suffix.

    >>> ends_with('Hello World', 'rld')
    True
    """
    return text.endswith(suffix)
