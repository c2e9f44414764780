def is_longer(a: str, b: str) -> bool:
    """Return True if a is longer than b.

    >>> is_longer('house', 'cat')
    True
    """
    return len(a) > len(b)
