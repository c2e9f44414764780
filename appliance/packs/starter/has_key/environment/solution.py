def has_key(data: dict[str, int], key: str) -> bool:
    """Return True if key is in data.

    >>> has_key({'b': -30}, 'b')
    True
    """
