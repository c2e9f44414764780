def weeks_to_days(weeks: int) -> int:
    """Return the number of days in the given weeks.

    >>> weeks_to_days(20)
    140
    """
    return weeks * 7
