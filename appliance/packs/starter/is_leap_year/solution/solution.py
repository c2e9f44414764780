def is_leap_year(year: int) -> bool:
    """Return True if year is a leap year.

    >>> is_leap_year(2024)
    True
    """
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
