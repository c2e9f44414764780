def repeat_text(text: str, times: int) -> str:
    """Return text repeated: text * times.

    >>> repeat_text('ab', 3)
    'ababab'
    """
    return text * times
