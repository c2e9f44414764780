"""Months, of different lengths."""

import calendar
from datetime import date


def length(year, month):
    """How many days a month has."""
    return calendar.monthrange(year, month)[1]


def add_months(day, count):
    """The same day so many months later, or the last one of that month when it is shorter."""
    month = day.month - 1 + count
    year = day.year + month // 12
    month = month % 12 + 1
    return date(year, month, min(day.day, length(year, month)))
