"""When an answer of a program equals the expected one: the judge's own checkers, over bytes.

A task chooses one from a closed list. Each compares the whole answer with the whole of what is expected, so that an
answer which holds the right one among others is wrong. None decodes, evaluates or searches anything.

| checker | equal when |
|---|---|
| exact | the bytes are, but for one newline at the end of either |
| lines | the lines are, but for blanks at the end of each and empty lines at the end of all |
| tokens | the words between ASCII white space are, in order |
| floats | as tokens; a number is equal within the tolerances, an integer exactly, and nothing equals NaN |
| bag | the lines are, each as often, in any order |
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

CUSTOM = "custom"
"""The author's own program, which runs in a jail."""

_INTEGER = re.compile(rb"[+-]?[0-9]+")
_NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,5})?")
_LONGEST_NUMBER = 400
"""Digits of a token that is read as a number: more is no float that anybody prints."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a number may be off: by `absolute`, or by `relative` times the expected one, whichever is more."""

    absolute: float = 0.0
    relative: float = 0.0


Checker = Callable[[bytes, bytes, Tolerance], bool]
"""Of the expected output, the answer and the tolerances."""


def exact(expected: bytes, answer: bytes, tolerance: Tolerance) -> bool:
    return _chomped(expected) == _chomped(answer)


def lines(expected: bytes, answer: bytes, tolerance: Tolerance) -> bool:
    return _trimmed(expected) == _trimmed(answer)


def tokens(expected: bytes, answer: bytes, tolerance: Tolerance) -> bool:
    return expected.split() == answer.split()


def floats(expected: bytes, answer: bytes, tolerance: Tolerance) -> bool:
    wanted, found = expected.split(), answer.split()
    return len(wanted) == len(found) and all(
        _close(one, other, tolerance) for one, other in zip(wanted, found, strict=True)
    )


def bag(expected: bytes, answer: bytes, tolerance: Tolerance) -> bool:
    return Counter(_chomped(expected).split(b"\n")) == Counter(_chomped(answer).split(b"\n"))


CHECKERS: Mapping[str, Checker] = {
    "exact": exact,
    "lines": lines,
    "tokens": tokens,
    "floats": floats,
    "bag": bag,
}


def _chomped(text: bytes) -> bytes:
    return text.removesuffix(b"\n")


def _trimmed(text: bytes) -> list[bytes]:
    """The lines without blanks at their ends; only the last ones may be missing or empty."""
    found = [line.rstrip(b" \t\r") for line in text.split(b"\n")]
    while found and not found[-1]:
        found.pop()
    return found


def _close(expected: bytes, found: bytes, tolerance: Tolerance) -> bool:
    """Whether two words are equal, as numbers where the expected one is a number."""
    if _INTEGER.fullmatch(expected) or not _NUMBER.fullmatch(expected):
        return expected == found and expected.lstrip(b"+-").lower() != b"nan"
    if len(found) > _LONGEST_NUMBER or not _NUMBER.fullmatch(found):
        return False
    wanted, got = float(expected), float(found)
    if not (math.isfinite(wanted) and math.isfinite(got)):
        return False
    return abs(wanted - got) <= max(tolerance.absolute, tolerance.relative * abs(wanted))
