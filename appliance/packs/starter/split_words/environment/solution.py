def split_words(text: str) -> list[str]:
    """Return the list of words: text.split().

    >>> split_words('one two')
    ['one', 'two']
    """
