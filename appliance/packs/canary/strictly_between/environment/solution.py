def strictly_between(low: int, high: int) -> int:
    """Return how many integers lie strictly between two."""
