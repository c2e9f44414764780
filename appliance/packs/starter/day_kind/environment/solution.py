def day_kind(day: str) -> str:
    """Return "weekend" if day is "Saturday" or "Sunday", else return "weekday".

    >>> day_kind('Saturday')
    'weekend'
    """
