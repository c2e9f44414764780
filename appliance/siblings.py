"""Submissions of one group side by side, for a person to compare: normal forms, differences, safe lines.

Python is brought into a normal form through its syntax tree, so that layout, comments and look-alike spellings of a
name are no difference. Whatever does not parse is compared as it stands. All text is the candidate's: it is parsed,
never run, and leaves here with everything invisible written out.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from appliance.clean import reveal_text

PARSED_BYTES = 64 * 1024
COMPARED_LINES = 2000
SHOWN_CHARACTERS = 40_000
CONTEXT_LINES = 3

Files = Mapping[str, str]
"""Name to text."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """One solution that others of the group handed in."""

    label: str
    """A letter; the order is drawn and says nothing."""
    files: Files
    members: tuple[int, ...]
    """Positions, in the list given, of all that handed in the same."""
    same: bool
    """In normal form it is the submission itself."""


def normal_form(name: str, text: str) -> str:
    """Python as its syntax tree prints it, anything else unchanged."""
    if not name.endswith(".py") or len(text) > PARSED_BYTES:
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.unparse(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


def normal(files: Files) -> dict[str, str]:
    """Every file in its normal form."""
    return {name: normal_form(name, text) for name, text in sorted(files.items())}


def nodes(text: str) -> int | None:
    """Nodes of a Python module's syntax tree; None for what does not parse."""
    if len(text) > PARSED_BYTES:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return sum(1 for _ in ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def gather(ours: Files, others: Sequence[Files], draw: str) -> list[Sibling]:
    """The different solutions among `others`, in an order drawn from `draw`."""
    mine, found = _digest(normal(ours)), dict[str, list[int]]()
    for place, files in enumerate(others):
        found.setdefault(_digest(normal(files)), []).append(place)
    drawn = sorted(found, key=lambda digest: hashlib.sha256(f"{draw}{digest}".encode()).hexdigest())
    return [
        Sibling(_label(place), others[found[digest][0]], tuple(found[digest]), digest == mine)
        for place, digest in enumerate(drawn)
    ]


def difference(ours: Files, theirs: Files) -> list[str]:
    """A unified difference of the normal forms, from `theirs` to `ours`; empty when they are the same."""
    before, after = (_lines(normal(files)) for files in (theirs, ours))
    lines = difflib.unified_diff(before, after, "sibling", "submission", lineterm="", n=CONTEXT_LINES)
    return list(lines)


def safe_lines(text: str, width: int = 0) -> list[str]:
    """`text` in lines fit for a terminal, invisible characters written out, wrapped at `width` (0: not at all)."""
    shown = reveal_text(text, SHOWN_CHARACTERS).expandtabs(4)
    return [piece for line in shown.split("\n") for piece in _wrapped(line, width)]


def _wrapped(line: str, width: int) -> Iterable[str]:
    """The pieces of a line; those that go on begin with a mark."""
    if width < 8 or len(line) <= width:
        return [line]
    rest = range(width, len(line), width - 2)
    return [line[:width], *(f"\\ {line[start : start + width - 2]}" for start in rest)]


def _lines(files: Files) -> list[str]:
    """All files in lines, each file under its name; cut, since comparing takes quadratic time."""
    lines = [line for name, text in files.items() for line in (f"=== {name}", *text.split("\n"))]
    return lines[:COMPARED_LINES]


def _digest(files: Files) -> str:
    return hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()


def _label(place: int) -> str:
    """A, B, … Z, AA, …"""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
