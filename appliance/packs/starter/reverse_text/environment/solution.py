def reverse_text(text: str) -> str:
    """Return text in reverse order.

    >>> reverse_text('abc')
    'cba'
    """
