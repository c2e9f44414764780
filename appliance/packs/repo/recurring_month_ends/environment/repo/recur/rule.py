"""Rules such as `every 2 weeks`."""

from dataclasses import dataclass

from recur.errors import RuleError

UNITS = {"day": ("days", 1), "week": ("days", 7), "month": ("months", 1), "year": ("months", 12)}


@dataclass(frozen=True)
class Rule:
    """A step: so many of `days` or `months`."""

    unit: str
    count: int


def parse(text):
    """The rule of a text such as `every day`, `every 2 weeks` or `every 1 month`; RuleError otherwise."""
    words = text.split()
    if len(words) == 2:
        words.insert(1, "1")
    if len(words) != 3 or words[0] != "every" or not words[1].isdecimal() or int(words[1]) < 1:
        raise RuleError(text)
    name = words[2].removesuffix("s")
    if name not in UNITS:
        raise RuleError(text)
    unit, size = UNITS[name]
    return Rule(unit, size * int(words[1]))
