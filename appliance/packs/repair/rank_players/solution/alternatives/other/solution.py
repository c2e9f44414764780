def rank_players(scores):
    names = sorted(scores)
    names.sort(key=scores.get, reverse=True)
    return names
