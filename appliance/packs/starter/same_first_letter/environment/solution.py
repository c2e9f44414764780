def same_first_letter(a: str, b: str) -> bool:
    """Return True if a and b start with the same letter.

    >>> same_first_letter('rat', 'river')
    True
    """
