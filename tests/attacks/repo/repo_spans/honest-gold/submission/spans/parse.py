"""Reading spans."""

import re

from spans.errors import SpanError
from spans.units import UNITS, seconds_of

_PART = re.compile(r"\s*(\d+)([a-z])")


def parse(text):
    """The seconds of a span such as `90s`, `1h 30m` or `-2d`."""
    body = text.strip()
    sign = -1 if body.startswith("-") else 1
    rest = body[1:] if sign < 0 else body
    order = list(UNITS)
    seconds, last = 0, -1
    while rest.strip():
        found = _PART.match(rest)
        if found is None:
            raise SpanError(text, "no number with a unit")
        seconds += int(found[1]) * seconds_of(found[2], text)
        if order.index(found[2]) <= last:
            raise SpanError(text, f"unit {found[2]!r} comes too late")
        last = order.index(found[2])
        rest = rest[found.end() :]
    if last < 0:
        raise SpanError(text, "no number with a unit")
    return sign * seconds


def is_span(text):
    """Whether a text is a span."""
    try:
        parse(text)
    except SpanError:
        return False
    return True


def total(texts):
    """The seconds of several spans together."""
    return sum(parse(text) for text in texts)
