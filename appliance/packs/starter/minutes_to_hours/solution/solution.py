def minutes_to_hours(minutes: int) -> float:
    """Convert minutes to hours.

    >>> minutes_to_hours(33)
    0.55
    """
    return minutes / 60
