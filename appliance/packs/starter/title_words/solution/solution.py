def title_words(text: str) -> str:
    """Capitalize the first letter of each word and keep the other letters.

    >>> title_words('red car')
    'Red Car'
    """
    return " ".join(word[0].upper() + word[1:] for word in text.split())
