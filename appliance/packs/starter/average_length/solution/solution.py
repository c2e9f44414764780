def average_length(words: list[str]) -> float:
    """Return the average length of words.

    >>> average_length(['river'])
    5.0
    """
    return sum(len(word) for word in words) / len(words)
