def next_leap(year: int) -> int:
    """Return the first leap year after a year."""
