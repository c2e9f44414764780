"""The dates of a rule."""

from datetime import timedelta

from recur.months import add_months


def dates(rule, first, count):
    """The first `count` dates, `first` among them."""
    return [_step(rule, first, number) for number in range(count)]


def between(rule, first, begin, end):
    """The dates from `begin` to `end`, both included; none lies before `first`."""
    number = 0
    found = []
    while (day := _step(rule, first, number)) <= end:
        number += 1
        if begin <= day:
            found.append(day)
    return found


def _step(rule, first, number):
    steps = rule.count * number
    return first + timedelta(days=steps) if rule.unit == "days" else add_months(first, steps)
