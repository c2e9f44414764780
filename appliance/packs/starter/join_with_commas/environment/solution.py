def join_with_commas(words: list[str]) -> str:
    """Return the words joined with commas: ",".join(words).

    >>> join_with_commas(['a', 'b', 'c'])
    'a,b,c'
    """
