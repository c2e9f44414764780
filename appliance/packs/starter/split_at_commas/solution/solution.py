def split_at_commas(text: str) -> list[str]:
    """Split text at every comma.

    >>> split_at_commas('1,1,x y')
    ['1', '1', 'x y']
    """
    return text.split(",")
