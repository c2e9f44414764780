def best_player(scores: dict[str, int]) -> str:
    """Return the name with the highest score: max(scores, key=scores.get).

    >>> best_player({'ann': 3, 'bob': 7})
    'bob'
    """
