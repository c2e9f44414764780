def padded_with_zeros(text: str, width: int) -> str:
    """Return text filled with zeros on the left up to width.

    >>> padded_with_zeros('house', 8)
    '000house'
    """
