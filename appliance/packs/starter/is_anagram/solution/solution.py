def is_anagram(a: str, b: str) -> bool:
    """Return True if sorted(a) == sorted(b).

    >>> is_anagram('listen', 'silent')
    True
    """
    return sorted(a) == sorted(b)
