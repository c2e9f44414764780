def count_vowels(text: str) -> int:
    """Return the number of vowels (a, e, i, o, u) in text.

    >>> count_vowels('banana')
    3
    """
