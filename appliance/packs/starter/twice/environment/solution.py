def twice(text: str) -> str:
    """Return text two times in a row.

    >>> twice('river')
    'riverriver'
    """
