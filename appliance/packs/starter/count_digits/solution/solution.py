def count_digits(text: str) -> int:
    """Return how many characters of text are digits.

    >>> count_digits('a1b22')
    3
    """
    return sum(char.isdigit() for char in text)
