def title_case(text: str) -> str:
    """Return text in title case.

    >>> title_case('NASA')
    'Nasa'
    """
    return text.title()
