def letter_counts(text):
    """Return how often each letter of text occurs, as a dict.

    >>> letter_counts("aba")
    {'a': 2, 'b': 1}
    """
