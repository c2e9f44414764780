"""What differs between two contents of a task: which files, and of what part; the text where both are at hand."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from appliance.manifest import ENVIRONMENT_PARTS, HIDDEN_PARTS, PUBLIC_PARTS

Files = Mapping[str, tuple[str, bool]]
Part = Literal["environment", "public", "hidden", "metadata"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One file. `mode`: only the executable bit."""

    path: str
    part: Part
    what: Literal["added", "removed", "changed", "mode"]


def part_of(path: str) -> Part:
    """Which part of a task a file belongs to."""
    if path.startswith(ENVIRONMENT_PARTS):
        return "environment"
    if path.startswith(PUBLIC_PARTS):
        return "public"
    return "hidden" if path.startswith(HIDDEN_PARTS) else "metadata"


def compare(old: Files, new: Files) -> tuple[Difference, ...]:
    """The files that differ, in order of their paths."""
    return tuple(_differences(old, new))


def _differences(old: Files, new: Files) -> Iterator[Difference]:
    for path in sorted({*old, *new}):
        before, after = old.get(path), new.get(path)
        if before is None or after is None:
            yield Difference(path, part_of(path), "added" if before is None else "removed")
        elif before[0] != after[0]:
            yield Difference(path, part_of(path), "changed")
        elif before[1] != after[1]:
            yield Difference(path, part_of(path), "mode")


def text(old: Path, new: Path, one: Difference) -> list[str]:
    """A unified diff of one file of two folders, line by line; a line that says so for what is no text."""
    try:
        before, after = _lines(old / one.path), _lines(new / one.path)
    except UnicodeDecodeError:
        return [f"{one.path}: not text"]
    return list(difflib.unified_diff(before, after, f"a/{one.path}", f"b/{one.path}", lineterm=""))


def _lines(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8").split("\n") if path.is_file() else []
