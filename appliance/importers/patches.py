"""Unified diffs of text files: made, applied, and turned round. In memory, in pure Python, never outside the tree.

The format is that of `diff -u` and `git diff`. Renames, modes and binary changes are refused. A hunk is applied where
its lines say, or at the one nearest place where its old lines stand; without context for that, it is refused.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from appliance.importers.adapt import Unfit
from appliance.judge import is_plain

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_END = "\\ No newline at end of file"
_REFUSED = ("rename from ", "copy from ", "GIT binary patch", "Binary files ")
NOTHING = "/dev/null"


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines with their ends, before and after, and at which line of each side they begin; 1 is the first."""

    start: int
    new_start: int
    before: tuple[str, ...]
    after: tuple[str, ...]

    def reversed(self) -> Hunk:
        return Hunk(self.new_start, self.start, self.after, self.before)


@dataclass(frozen=True, slots=True)
class Change:
    """What a diff says of one file; None for a side where it is not there."""

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...]

    def reversed(self) -> Change:
        return Change(self.new, self.old, tuple(hunk.reversed() for hunk in self.hunks))


def read(patch: str) -> list[Change]:
    """The changes of a diff; Unfit when it is none, or does what no diff of texts can say."""
    for line in patch.split("\n"):
        if line.startswith(_REFUSED):
            raise Unfit(f"the patch has a line {line[:60]!r}: only changes of texts are read")
    lines = patch.split("\n")
    starts = [
        index
        for index in range(len(lines) - 1)
        if lines[index].startswith("--- ") and lines[index + 1].startswith("+++ ")
    ]
    starts = _outside_hunks(lines, starts)
    if not starts:
        raise Unfit("the patch changes no file")
    ends = [*starts[1:], len(lines)]
    return [_change(lines[start:end]) for start, end in zip(starts, ends, strict=True)]


def _outside_hunks(lines: list[str], starts: list[int]) -> list[int]:
    """A removed line `-- x` reads like a header; whether it is one, the counts of the hunk before it say."""
    kept, free = [], 0
    for start in starts:
        if start >= free:
            kept.append(start)
            free = start + 2
            while free < len(lines) and _HUNK.match(lines[free]):
                free = _end_of_hunk(lines, free)
    return kept


def _counts(head: str) -> tuple[int, int]:
    """How many lines a hunk has before and after; a count that is left out is one."""
    found = _HUNK.match(head)
    old, new = (found[2], found[4]) if found else (None, None)
    return int("1" if old is None else old), int("1" if new is None else new)


def _end_of_hunk(lines: list[str], at: int) -> int:
    old, new = _counts(lines[at])
    at += 1
    while at < len(lines) and (old > 0 or new > 0 or lines[at] == _NO_END):
        old -= lines[at][:1] in (" ", "-", "")
        new -= lines[at][:1] in (" ", "+", "")
        at += 1
    return at


def _change(lines: list[str]) -> Change:
    old, new = _name(lines[0][4:], "a/"), _name(lines[1][4:], "b/")
    hunks, at = [], 2
    while at < len(lines) and _HUNK.match(lines[at]):
        end = _end_of_hunk(lines, at)
        hunks.append(_hunk(lines[at], lines[at + 1 : end]))
        at = end
    if not hunks:
        raise Unfit(f"the patch of {new or old} has no hunk")
    return Change(old, new, tuple(hunks))


def _name(text: str, prefix: str) -> str | None:
    name = text.split("\t")[0].strip()
    if name == NOTHING:
        return None
    name = name.removeprefix(prefix)
    if not is_plain(name) or name.startswith('"'):
        raise Unfit(f"the patch names {name!r}, which is no plain path in the tree")
    return name


def _hunk(head: str, lines: list[str]) -> Hunk:
    found = _HUNK.match(head)
    assert found is not None
    sides: dict[str, list[str]] = {"-": [], "+": []}
    last = ""
    for line in lines:
        if line == _NO_END:
            for side in last:
                sides[side][-1] = sides[side][-1].removesuffix("\n")
            continue
        last = {"-": "-", "+": "+"}.get(line[:1], "-+")
        for side in last:
            sides[side].append(line[1:] + "\n")
    if (len(sides["-"]), len(sides["+"])) != _counts(head):
        raise Unfit(f"the hunk {head[:60]!r} is cut off")
    return Hunk(int(found[1]), int(found[3]), tuple(sides["-"]), tuple(sides["+"]))


def apply(files: Mapping[str, bytes], changes: list[Change]) -> dict[str, bytes]:
    """The files after the changes; Unfit when one does not fit. Files that are removed are gone."""
    found = dict(files)
    for change in changes:
        text = _decoded(found, change.old)
        if change.old is not None and change.old != change.new:
            del found[change.old]
        if change.new is not None:
            found[change.new] = "".join(_changed(change, _split(text))).encode()
    return found


def _decoded(files: Mapping[str, bytes], name: str | None) -> str:
    if name is None:
        return ""
    if name not in files:
        raise Unfit(f"the patch changes {name}, which is not there")
    try:
        return files[name].decode("utf-8")
    except UnicodeDecodeError:
        raise Unfit(f"the patch changes {name}, which is no UTF-8") from None


def _split(text: str) -> list[str]:
    """Lines with their ends, parted at newlines alone."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _changed(change: Change, lines: list[str]) -> list[str]:
    result, done = [], 0
    for hunk in change.hunks:
        at = _place(change, hunk, lines, done)
        result += [*lines[done:at], *hunk.after]
        done = at + len(hunk.before)
    return [*result, *lines[done:]]


def _place(change: Change, hunk: Hunk, lines: list[str], done: int) -> int:
    wanted, size = list(hunk.before), len(hunk.before)
    meant = max(hunk.start - 1, 0) if size else hunk.start
    for at in sorted(range(done, len(lines) - size + 1), key=lambda at: abs(at - meant)):
        if lines[at : at + size] == wanted and (size or at == meant):
            return at
    raise Unfit(f"the patch of {change.new or change.old} does not fit at line {hunk.start}")


def write(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str:
    """The diff that turns one set of files into another, as `git diff` writes it. Unfit for a file that is no UTF-8."""
    return "".join(
        _diff(name, before, after)
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    )


def _diff(name: str, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str:
    if not (before.get(name) or after.get(name)):
        raise Unfit(f"{name} is empty, and a diff cannot say whether it is there")
    old, new = (_split(_decoded(files, name if name in files else None)) for files in (before, after))
    names = [f"{side}/{name}" if name in files else NOTHING for side, files in (("a", before), ("b", after))]
    lines = difflib.unified_diff(old, new, names[0], names[1])
    return f"diff --git a/{name} b/{name}\n" + "".join(_ended(lines))


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n{_NO_END}\n"
