def same_length(a: str, b: str) -> bool:
    """Return True if a and b have the same length.

    >>> same_length('cat', 'dog')
    True
    """
