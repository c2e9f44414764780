def count_runs(text: str) -> int:
    """Return how many runs of equal characters there are."""
