def count_words(text: str) -> int:
    """Return the number of words in text.

    >>> count_words('one two')
    2
    """
    return len(text.split())
