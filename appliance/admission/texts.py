"""The texts of a task, and texts as lines, tokens and windows: what leak scans and searches for likeness compare."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from appliance.manifest import walk
from appliance.nouns import Task

_TOKEN = re.compile(r"[^\W\d]\w*|\d+(?:\.\d+)?|[^\w\s]")
_WORD = re.compile(r"\w+")
_MOST_BYTES = 1 << 20
"""Of one file that is looked at."""


def tokens(text: str) -> list[str]:
    """Words, numbers and single signs."""
    return _TOKEN.findall(text)


def words(text: str) -> list[str]:
    """Words in lower case, without signs."""
    return _WORD.findall(text.lower())


def windows(parts: Sequence[str], size: int) -> set[tuple[str, ...]]:
    """Every run of `size` neighbours; the whole where it is shorter, and nothing of nothing."""
    if len(parts) < size:
        return {tuple(parts)} if parts else set()
    return {tuple(parts[start : start + size]) for start in range(len(parts) - size + 1)}


def whole_windows(parts: Sequence[str], size: int) -> set[tuple[str, ...]]:
    """Every run of `size` neighbours; nothing where there are fewer."""
    return windows(parts, size) if len(parts) >= size else set()


def lines(text: str) -> list[str]:
    """The lines that say something, without indentation."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def holds(outer: Sequence[str], inner: Sequence[str]) -> bool:
    """Whether `inner` stands in `outer` without a gap; nothing stands nowhere."""
    mark = "\x00"
    return bool(inner) and mark + mark.join(inner) + mark in mark + mark.join(outer) + mark


def part(task: Task, *names: str) -> dict[str, str]:
    """The text files of a task below these folders (or at these paths), by name; what is no UTF-8 is left out."""
    root, found = Path(task.folder), {}
    for path in walk(root):
        name = path.relative_to(root).as_posix()
        if name.startswith(names) and path.stat().st_size <= _MOST_BYTES:
            try:
                found[name] = path.read_bytes().decode("utf-8")
            except UnicodeDecodeError:
                continue
    return found
