def position_of_part(text: str, part: str) -> int:
    """Return the index of part in text.

    >>> position_of_part('house', 's')
    3
    """
    return text.index(part)
