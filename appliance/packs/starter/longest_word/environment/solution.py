def longest_word(words: list[str]) -> str:
    """Return the longest word.

    >>> longest_word(['a', 'ccc', 'bb'])
    'ccc'
    """
