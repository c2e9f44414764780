def title_words(text: str) -> str:
    """Return " ".join(word[0].upper() + word[1:] for word in text.split()).

    >>> title_words('red car')
    'Red Car'
    """
