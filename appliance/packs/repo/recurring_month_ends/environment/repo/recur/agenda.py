"""Several bills in one list."""

from datetime import date

from recur.rule import parse
from recur.series import between


def agenda(bills, begin, end):
    """Pairs of date and name, sorted; `bills` is a dict from a name to a pair of rule text and first date."""
    found = []
    for name, (text, first) in bills.items():
        found += [(day, name) for day in between(parse(text), first, begin, end)]
    return sorted(found)


def listed(bills, begin, end):
    """The agenda in texts: dates are given and returned as such, for example `2025-01-31`."""
    read = {name: (text, date.fromisoformat(first)) for name, (text, first) in bills.items()}
    found = agenda(read, date.fromisoformat(begin), date.fromisoformat(end))
    return [f"{day.isoformat()} {name}" for day, name in found]
