def lengths_of(words: list[str]) -> list[int]:
    """Return the length of each word: [len(word) for word in words].

    >>> lengths_of(['a', 'bcd'])
    [1, 3]
    """
