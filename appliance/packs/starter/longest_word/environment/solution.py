def longest_word(words: list[str]) -> str:
    """Return the longest word: max(words, key=len).

    >>> longest_word(['a', 'ccc', 'bb'])
    'ccc'
    """
