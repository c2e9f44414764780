def split_words(text: str) -> list[str]:
    """Split text into a list of words.

    >>> split_words('one two')
    ['one', 'two']
    """
    return text.split()
