def first_two_characters(text: str) -> str:
    """Return the first two characters of text.

    >>> first_two_characters('river')
    'ri'
    """
