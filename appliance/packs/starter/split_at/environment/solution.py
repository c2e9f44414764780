def split_at(text: str, mark: str) -> list[str]:
    """Split text at mark.

    >>> split_at('b-a-red', '-')
    ['b', 'a', 'red']
    """
