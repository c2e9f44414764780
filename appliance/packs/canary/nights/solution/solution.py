def nights(arrive: int, leave: int) -> int:
    """Return how many nights a guest pays for."""
    return leave - arrive
