def speed(distance: int, hours: int) -> float:
    """Return the average speed for a distance and a number of hours.

    >>> speed(100, 2)
    50.0
    """
