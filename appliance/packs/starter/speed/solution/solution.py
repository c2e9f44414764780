def speed(distance: int, hours: int) -> float:
    """Return the speed: distance / hours.

    >>> speed(100, 2)
    50.0
    """
    return distance / hours
