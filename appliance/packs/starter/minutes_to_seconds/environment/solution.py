def minutes_to_seconds(minutes: int) -> int:
    """Convert minutes to seconds.

    >>> minutes_to_seconds(1)
    60
    """
