def remove_commas(text: str) -> str:
    """Return text without commas.

    >>> remove_commas('1,000')
    '1000'
    """
    return text.replace(",", "")
