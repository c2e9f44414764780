"""Cuts a text into numbers and signs."""

import re

from calc.errors import CalcError

_TOKEN = re.compile(r"\s*(?:(\d+)|([-+*/%^()]))")


def tokens(text):
    """Pairs of a token and its position; numbers as int, signs as str."""
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise CalcError("what is this", at)
        number, sign = match.groups()
        found.append((int(number) if number else sign, match.start(1 if number else 2)))
        at = match.end()
    return found
