def is_leap_year(year: int) -> bool:
    """Return True in a leap year: year % 4 == 0 and (year % 100 != 0 or year % 400 == 0).

    >>> is_leap_year(2024)
    True
    """
