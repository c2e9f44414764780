def next_leap(year: int) -> int:
    """Return the first leap year after a year."""
    year += 1
    while year % 4 or (year % 100 == 0 and year % 400):
        year += 1
    return year
