"""Reading spans, by one expression for the whole."""

import re

from spans.errors import SpanError
from spans.units import UNITS

_SPAN = re.compile(r"\s*(-\s*)?" + "".join(rf"(?:(?P<{unit}>\d+){unit}\s*)?" for unit in UNITS))


def parse(text):
    """The seconds of a span."""
    found = _SPAN.fullmatch(text)
    counts = {} if found is None else {unit: found[unit] for unit in UNITS if found[unit] is not None}
    if not counts:
        raise SpanError(text, "no span")
    return sum(int(count) * UNITS[unit] for unit, count in counts.items()) * (-1 if found[1] else 1)


def is_span(text):
    """Whether a text is a span."""
    try:
        return parse(text) is not None
    except SpanError:
        return False


def total(texts):
    """The seconds of several spans together."""
    return sum(map(parse, texts))
