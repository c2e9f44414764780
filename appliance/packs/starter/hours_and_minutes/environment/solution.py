def hours_and_minutes(hours: int, minutes: int) -> int:
    """Return the total minutes: hours * 60 + minutes.

    >>> hours_and_minutes(1, 30)
    90
    """
