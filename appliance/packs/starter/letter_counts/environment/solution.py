def letter_counts(text: str) -> dict[str, int]:
    """Return the count of each character: {char: text.count(char) for char in text}.

    >>> letter_counts('aab')
    {'a': 2, 'b': 1}
    """
