def jumps(readings: list[int], limit: int) -> list[int]:
    """Return the positions of readings that differ from the one before by more than limit."""
