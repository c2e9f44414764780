def join_with_commas(words: list[str]) -> str:
    """Join the words with commas.

    >>> join_with_commas(['a', 'b', 'c'])
    'a,b,c'
    """
    return ",".join(words)
