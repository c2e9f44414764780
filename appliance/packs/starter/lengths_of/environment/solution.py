def lengths_of(words: list[str]) -> list[int]:
    """Return a list of the lengths of the words.

    >>> lengths_of(['a', 'bcd'])
    [1, 3]
    """
