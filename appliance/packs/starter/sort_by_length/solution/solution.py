def sort_by_length(words: list[str]) -> list[str]:
    """Return the words sorted by length, shortest first.

    >>> sort_by_length(['ccc', 'a', 'bb'])
    ['a', 'bb', 'ccc']
    """
    return sorted(words, key=len)
