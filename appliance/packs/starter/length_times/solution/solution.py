def length_times(text: str, n: int) -> int:
    """Return the length of text times n.

    >>> length_times('Ada', 12)
    36
    """
    return len(text) * n
