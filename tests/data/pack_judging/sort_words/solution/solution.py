def sort_words(words):
    """Return the words as a new sorted list.

    >>> sort_words(["b", "a"])
    ['a', 'b']
    """
    return sorted(words)
