def hours_and_minutes(hours: int, minutes: int) -> int:
    """Convert hours and minutes to minutes.

    >>> hours_and_minutes(1, 30)
    90
    """
