def count_digits(text: str) -> int:
    """Return the number of digits: sum(char.isdigit() for char in text).

    >>> count_digits('a1b22')
    3
    """
    return sum(char.isdigit() for char in text)
