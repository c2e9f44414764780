def count_digits(text: str) -> int:
    """Return how many characters of text are digits.

    >>> count_digits('a1b22')
    3
    """
