def find_part(text: str, part: str) -> int:
    """Find part in text and return its position, or -1.

    >>> find_part('house', 'u')
    2
    """
