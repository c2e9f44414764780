def is_upper_case(text: str) -> bool:
    """Return True if text is in upper case.

    >>> is_upper_case('OK')
    True
    """
    return text.isupper()
