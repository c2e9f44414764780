def minutes_to_seconds(minutes: int) -> int:
    """Convert minutes to seconds: minutes * 60.

    >>> minutes_to_seconds(1)
    60
    """
