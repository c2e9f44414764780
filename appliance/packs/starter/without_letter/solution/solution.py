def without_letter(text: str, letter: str) -> str:
    """Return text with letter removed.

    >>> without_letter('NASA', 'A')
    'NS'
    """
    return text.replace(letter, "")
