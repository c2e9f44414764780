def sort_by_length(words: list[str]) -> list[str]:
    """Return the words sorted by length: sorted(words, key=len).

    >>> sort_by_length(['ccc', 'a', 'bb'])
    ['a', 'bb', 'ccc']
    """
    return sorted(words, key=len)
