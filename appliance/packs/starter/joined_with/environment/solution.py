def joined_with(words: list[str], mark: str) -> str:
    """Join words with mark.

    >>> joined_with(['river', 'river'], ' and ')
    'river and river'
    """
