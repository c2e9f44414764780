def as_percent(n: int) -> str:
    """Return n followed by "%".

    >>> as_percent(33)
    '33%'
    """
