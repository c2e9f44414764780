def same_length(a: str, b: str) -> bool:
    """Return True if len(a) == len(b).

    >>> same_length('cat', 'dog')
    True
    """
    return len(a) == len(b)
