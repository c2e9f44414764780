"""Units of time, from the largest to the smallest."""

from spans.errors import SpanError

UNITS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}


def seconds_of(unit, text):
    """How many seconds a unit has; `text` is what it was found in."""
    try:
        return UNITS[unit]
    except KeyError:
        raise SpanError(text, f"unknown unit {unit!r}") from None
