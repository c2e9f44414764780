def best_player(scores: dict[str, int]) -> str:
    """Return the name with the highest score.

    >>> best_player({'ann': 3, 'bob': 7})
    'bob'
    """
    return max(scores, key=scores.get)
