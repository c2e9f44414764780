def make_upper(text: str) -> str:
    """Return text in upper case.

    >>> make_upper('abc')
    'ABC'
    """
