"""The dates of a rule."""

from datetime import timedelta
from itertools import count as numbers
from itertools import islice, takewhile

from recur.months import add_months


def dates(rule, first, count):
    """The first `count` dates, `first` among them."""
    return list(islice(_all(rule, first), count))


def between(rule, first, begin, end):
    """The dates from `begin` to `end`, both included; none lies before `first`."""
    return [day for day in takewhile(lambda day: day <= end, _all(rule, first)) if day >= begin]


def _all(rule, first):
    return (_at(rule, first, number) for number in numbers())


def _at(rule, first, number):
    if rule.unit == "months":
        return add_months(first, number * rule.count)
    return first + timedelta(days=number * rule.count)
