def swapped_case(text: str) -> str:
    """Return text with upper and lower case swapped.

    >>> swapped_case('x9')
    'X9'
    """
    return text.swapcase()
