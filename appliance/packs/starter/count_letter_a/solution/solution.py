def count_letter_a(text: str) -> int:
    """Return how many times "a" is in text.

    >>> count_letter_a('Ada')
    1
    """
    return text.count("a")
