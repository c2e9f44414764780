def repeat_text(text: str, times: int) -> str:
    """Return text repeated the given number of times.

    >>> repeat_text('ab', 3)
    'ababab'
    """
