def jumps(readings: list[int], limit: int) -> list[int]:
    """Return the positions of readings that differ from the one before by more than limit."""
    return [place for place in range(1, len(readings)) if abs(readings[place] - readings[place - 1]) > limit]
