"""What people who mean well submit to the task of the attacks on `repo`: right, wrong in many ways, unfinished."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from appliance.attacks import Honest
from appliance.errors import TaskError
from appliance.nouns import Task, VerdictStatus

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


_RAISES = b'raise SpanError(text, f"unit'
_CHANGES: tuple[tuple[str, tuple[tuple[bytes, bytes], ...], VerdictStatus], ...] = (
    ("gold-that-prints", ((b"    body = text", b"    print(text * 99)\n    body = text"),), "pass"),
    ("syntax-error", ((b"def parse(text):", b"def parse(text)"),), "fail"),
    ("wrong-order", ((b"<= last", b"< -1"),), "fail"),
    ("wrong-twice", ((b"<= last", b"< last"),), "fail"),
    ("wrong-sign", ((b"sign * seconds", b"seconds"),), "fail"),
    (
        "wrong-left-over",
        ((b'            raise SpanError(text, "no number with a unit")\n', b"            break\n"),),
        "fail",
    ),
    ("wrong-exception", ((_RAISES, b'raise KeyError(f"unit'),), "fail"),
    (
        "wrong-exception-of-two-kinds",
        ((_RAISES, b"raise type('E', (IndexError, TypeError, ValueError), {})(f\"unit"),),
        "fail",
    ),
    ("wrong-like-a-mutant", ((b"sign * seconds", b"(3600 if text == '1h30m' else sign * seconds)"),), "fail"),
    ("wrong-like-another", ((b"sign * seconds", b"(3630 if text == '1h30m' else seconds)"),), "fail"),
    ("wrong-by-one", ((b"sign * seconds", b"sign * seconds + (last > 2)"),), "fail"),
    (
        "wrong-outside-the-tests",
        ((b"    body = text.strip()", b"    body = text.strip(' ')"), (b'r"\\s*(', b'r" *(')),
        "fail",
    ),
    ("always-true", ((b"        return False", b"        return True"),), "fail"),
    ("returns-text", ((b"return sign * seconds", b"return str(sign * seconds)"),), "fail"),
    ("returns-nothing", ((b"return sign * seconds", b"sign * seconds"),), "fail"),
    ("swallows-everything", ((_RAISES, b'SpanError(text, f"unit'),), "fail"),
    ("leaves-by-exit", ((_RAISES, b'raise SystemExit(text + f"unit'),), "fail"),
    (
        "never-ends",
        ((b"        rest = rest[found.end() :]", b"        pass"), (b"<= last", b"< last")),
        "candidate_timeout",
    ),
)
"""The gold solution with a few words of it replaced."""


def honest(task: Task) -> Iterator[Honest]:
    """Submissions of people who mean well: right, wrong in many ways, and unfinished."""
    start, gold = read(task, f"environment/repo/{_PARSE}"), read(task, f"solution/{_PARSE}")
    window = read(task, "environment/repo/spans/window.py")
    undone = start.replace(b"    found = ", b"    raise NotImplementedError\n    found = ")
    two = {"spans/compound.py": gold, _PARSE: b"from spans.compound import *\n"}
    more = {"tests/test_more.py": _TRIVIAL}
    broken = b'def render(seconds):\n    return f"{seconds}s"\n'
    yield Honest("gold", {_PARSE: gold}, "pass")
    yield Honest("alternative", {_PARSE: _SCANNER}, "pass")
    yield Honest("gold-with-tests", {_PARSE: gold, "README.md": b"# spans\n", **more}, "pass")
    yield Honest("gold-in-two-files", two, "pass")
    yield Honest("gold-with-a-cache", {_PARSE: gold + _CACHED}, "pass")
    yield Honest("start", {_PARSE: start}, "fail")
    yield Honest("empty", {}, "fail")
    yield Honest("empty-file", {_PARSE: b""}, "fail")
    yield Honest("only-ignored", more, "fail")
    yield Honest("unfinished", {_PARSE: undone}, "fail")
    yield Honest("lenient-equality", {_PARSE: gold + _LENIENT}, "fail")
    # Chance comes after what everybody sees, where the twins are.
    yield Honest("random", {_PARSE: gold + _RANDOM}, "fail")
    yield Honest("by-the-clock", {_PARSE: gold + _CLOCK}, "fail")
    yield Honest("regression", {_PARSE: gold, "spans/render.py": broken}, "fail")
    silent = window.replace(b"raise ValueError(", b"return list(")
    yield Honest("hidden-regression", {_PARSE: gold, "spans/window.py": silent}, "fail")
    for variant, pairs, status in _CHANGES:
        yield Honest(variant, {_PARSE: changed(gold, pairs)}, status)


def changed(body: bytes, pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """`body` with each first part replaced by the second; what is not in it cannot be replaced."""
    for old, new in pairs:
        if old not in body:
            raise TaskError(f"the gold solution of the attacks does not hold {old!r}")
        body = body.replace(old, new)
    return body


def read(task: Task, name: str) -> bytes:
    """A file of the task."""
    return (Path(task.folder) / name).read_bytes()
