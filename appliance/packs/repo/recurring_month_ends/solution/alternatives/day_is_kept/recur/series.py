"""The dates of a rule."""

from datetime import timedelta

from recur.months import add_months, length


def dates(rule, first, count):
    """The first `count` dates, `first` among them."""
    found = []
    day = first
    while len(found) < count:
        found.append(day)
        day = _next(rule, day, first.day)
    return found


def between(rule, first, begin, end):
    """The dates from `begin` to `end`, both included; none lies before `first`."""
    found = []
    day = first
    while day <= end:
        if day >= begin:
            found.append(day)
        day = _next(rule, day, first.day)
    return found


def _next(rule, day, wanted):
    if rule.unit == "months":
        later = add_months(day.replace(day=1), rule.count)
        return later.replace(day=min(wanted, length(later.year, later.month)))
    return day + timedelta(days=rule.count)
