def join_with_spaces(words: list[str]) -> str:
    """Join the words with spaces.

    >>> join_with_spaces(['Ada', 'river', 'tree top'])
    'Ada river tree top'
    """
    return " ".join(words)
