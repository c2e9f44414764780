def is_anagram(a: str, b: str) -> bool:
    """Return True if a and b consist of the same letters.

    >>> is_anagram('listen', 'silent')
    True
    """
    return sorted(a) == sorted(b)
