def count_char(text: str, char: str) -> int:
    """Return how often char occurs in text.

    >>> count_char('banana', 'a')
    3
    """
