def long_words(words: list[str], n: int) -> list[str]:
    """Return a list of the words that are longer than n characters.

    >>> long_words(['hi', 'hello'], 3)
    ['hello']
    """
    return [word for word in words if len(word) > n]
