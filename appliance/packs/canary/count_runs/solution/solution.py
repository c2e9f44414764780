def count_runs(text: str) -> int:
    """Return how many runs of equal characters there are."""
    return sum(place == 0 or text[place] != text[place - 1] for place in range(len(text)))
