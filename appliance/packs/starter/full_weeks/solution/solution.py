def full_weeks(days: int) -> int:
    """Return how many full weeks are in days.

    >>> full_weeks(12)
    1
    """
    return days // 7
