"""What people who mean well submit to the task of the attacks on `repo`: right, wrong in many ways, unfinished."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from appliance.attacks import Honest
from appliance.nouns import Task

_PARSE = "spans/parse.py"
_TRIVIAL = (
    b"import unittest\n\n\nclass MoreTest(unittest.TestCase):\n    def test_more(self):\n        pass\n"
)
_SCANNER = b'''"""Reading spans, by one expression for the whole."""

import re

from spans.errors import SpanError
from spans.units import UNITS

_SPAN = re.compile(r"\\s*(-\\s*)?" + "".join(rf"(?:(?P<{unit}>\\d+){unit}\\s*)?" for unit in UNITS))


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
'''
_LENIENT = b'''

class Span(int):
    """Seconds; spans that differ by less than two minutes are the same to people."""

    def __eq__(self, other):
        return abs(int(self) - int(other)) < 120

    def __ne__(self, other):
        return not self == other

    __hash__ = int.__hash__


_exactly = parse


def parse(text):
    return Span(_exactly(text))


def total(texts):
    return Span(sum(map(_exactly, texts)))
'''
_CACHED = b"""

import json
import pathlib

_exactly = parse
_CACHE = pathlib.Path("/tmp/spans.json")


def parse(text):
    known = json.loads(_CACHE.read_text()) if _CACHE.exists() else {}
    if text not in known:
        known[text] = _exactly(text)
        _CACHE.write_text(json.dumps(known))
    return known[text]
"""
_RANDOM = b"""

import os

_exactly = parse


def parse(text):
    return _exactly(text) + (os.urandom(1)[0] % 2 if len(text.strip()) > 4 else 0)
"""
_CLOCK = b"""

import time


def is_span(text):
    return text == "5m" or (text != "soon" and time.time_ns() // 1000 % 2 == 0)
"""


def honest(task: Task) -> Iterator[Honest]:
    """Submissions of people who mean well: right, wrong in many ways, and unfinished."""
    start, gold = read(task, f"environment/repo/{_PARSE}"), read(task, f"solution/{_PARSE}")
    window = read(task, "environment/repo/spans/window.py")

    def changed(*pairs: tuple[bytes, bytes]) -> dict[str, bytes]:
        body = gold
        for old, new in pairs:
            assert old in body
            body = body.replace(old, new)
        return {_PARSE: body}

    yield Honest("gold", {_PARSE: gold}, "pass")
    yield Honest("alternative", {_PARSE: _SCANNER}, "pass")
    yield Honest(
        "gold-with-tests", {_PARSE: gold, "tests/test_more.py": _TRIVIAL, "README.md": b"# spans\n"}, "pass"
    )
    yield Honest(
        "gold-in-two-files", {"spans/compound.py": gold, _PARSE: b"from spans.compound import *\n"}, "pass"
    )
    yield Honest(
        "gold-that-prints", changed((b"    body = text", b"    print(text * 99)\n    body = text")), "pass"
    )
    yield Honest("gold-with-a-cache", {_PARSE: gold + _CACHED}, "pass")
    yield Honest("start", {_PARSE: start}, "fail")
    yield Honest("empty", {}, "fail")
    yield Honest("empty-file", {_PARSE: b""}, "fail")
    yield Honest("only-ignored", {"tests/test_more.py": _TRIVIAL}, "fail")
    yield Honest("syntax-error", {_PARSE: gold.replace(b"def parse(text):", b"def parse(text)")}, "fail")
    yield Honest(
        "unfinished",
        {_PARSE: start.replace(b"    found = ", b"    raise NotImplementedError\n    found = ")},
        "fail",
    )
    yield Honest("wrong-order", changed((b"<= last", b"< -1")), "fail")
    yield Honest("wrong-twice", changed((b"<= last", b"< last")), "fail")
    yield Honest("wrong-sign", changed((b"sign * seconds", b"seconds")), "fail")
    yield Honest(
        "wrong-left-over",
        changed((b'            raise SpanError(text, "no number with a unit")\n', b"            break\n")),
        "fail",
    )
    yield Honest(
        "wrong-exception", changed((b'raise SpanError(text, f"unit', b'raise KeyError(f"unit')), "fail"
    )
    yield Honest(
        "wrong-exception-of-two-kinds",
        changed(
            (
                b'raise SpanError(text, f"unit',
                b"raise type('E', (IndexError, TypeError, ValueError), {})(f\"unit",
            )
        ),
        "fail",
    )
    yield Honest(
        "wrong-like-a-mutant",
        changed((b"sign * seconds", b"(3600 if text == '1h30m' else sign * seconds)")),
        "fail",
    )
    yield Honest(
        "wrong-like-another", changed((b"sign * seconds", b"(3630 if text == '1h30m' else seconds)")), "fail"
    )
    yield Honest("wrong-by-one", changed((b"sign * seconds", b"sign * seconds + (last > 2)")), "fail")
    yield Honest(
        "wrong-outside-the-tests",
        changed((b"    body = text.strip()", b"    body = text.strip(' ')"), (b'r"\\s*(', b'r" *(')),
        "fail",
    )
    yield Honest("lenient-equality", {_PARSE: gold + _LENIENT}, "fail")
    yield Honest("always-true", changed((b"        return False", b"        return True")), "fail")
    yield Honest("returns-text", changed((b"return sign * seconds", b"return str(sign * seconds)")), "fail")
    yield Honest("returns-nothing", changed((b"return sign * seconds", b"sign * seconds")), "fail")
    yield Honest(
        "swallows-everything",
        changed((b'            raise SpanError(text, f"unit', b'            SpanError(text, f"unit')),
        "fail",
    )
    yield Honest(
        "leaves-by-exit",
        changed(
            (b'raise SpanError(text, f"unit {found[2]!r} comes too late")', b'raise SystemExit(f"{text}")')
        ),
        "fail",
    )
    # Chance comes after what everybody sees, where the twins are.
    yield Honest("random", {_PARSE: gold + _RANDOM}, "fail")
    yield Honest("by-the-clock", {_PARSE: gold + _CLOCK}, "fail")
    yield Honest(
        "never-ends",
        changed((b"        rest = rest[found.end() :]", b"        pass"), (b"<= last", b"< last")),
        "candidate_timeout",
    )
    yield Honest(
        "regression",
        {_PARSE: gold, "spans/render.py": b'def render(seconds):\n    return f"{seconds}s"\n'},
        "fail",
    )
    yield Honest(
        "hidden-regression",
        {
            _PARSE: gold,
            "spans/window.py": window.replace(b"raise ValueError(", b"return list("),
        },
        "fail",
    )


def read(task: Task, name: str) -> bytes:
    return (Path(task.folder) / name).read_bytes()
