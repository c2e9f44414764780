def letter_counts(text: str) -> dict[str, int]:
    """Return a dictionary that counts how often each character occurs.

    >>> letter_counts('aab')
    {'a': 2, 'b': 1}
    """
    return {char: text.count(char) for char in text}
