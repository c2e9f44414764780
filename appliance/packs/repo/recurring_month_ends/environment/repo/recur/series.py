"""The dates of a rule."""

from datetime import timedelta

from recur.months import add_months


def dates(rule, first, count):
    """The first `count` dates, `first` among them."""
    found = []
    day = first
    while len(found) < count:
        found.append(day)
        day = _next(rule, day)
    return found


def between(rule, first, begin, end):
    """The dates from `begin` to `end`, both included; none lies before `first`."""
    found = []
    day = first
    while day <= end:
        if day >= begin:
            found.append(day)
        day = _next(rule, day)
    return found


def _next(rule, day):
    if rule.unit == "months":
        return add_months(day, rule.count)
    return day + timedelta(days=rule.count)
