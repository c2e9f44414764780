def long_words(words: list[str], n: int) -> list[str]:
    """Return the long words: [word for word in words if len(word) > n].

    >>> long_words(['hi', 'hello'], 3)
    ['hello']
    """
