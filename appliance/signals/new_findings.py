"""What a submission added to what was already there: the remarks on it, less those on the untouched start.

A remark is the same when its rule and the text of its line are, so that code can be moved and lines inserted. Less
than before earns nothing, so that nothing is won by deleting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from appliance.signals import Exhibit, Reading, Remark, Wanted, not_applicable
from appliance.signals.kept_values import Kept
from appliance.signals.start_tree import lines_of, python_files

KEPT_BASELINES = 512
LONGEST_LINE = 2000
"""Characters of a line that make it what it is."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a tool found in some files."""

    remarks: tuple[Remark, ...] = ()
    blocked: str = ""
    """Why it could not look at them at all."""


Row = tuple[str, str, int, str]
"""Code, file, line and message."""
Inspect = Callable[[Exhibit, Mapping[str, bytes]], Inspection]

_baselines: Kept[Inspection] = Kept(KEPT_BASELINES)


def baseline(exhibit: Exhibit, config: str, inspect: Inspect) -> Inspection:
    """The inspection of the untouched start, made once for a task and a configuration."""
    key = (exhibit.task.task_hash, config, inspect.__module__)
    return _baselines.get(key, lambda: inspect(exhibit, python_files(exhibit.start)))


def added(exhibit: Exhibit, config: str, inspect: Inspect, *, whole: bool = False) -> Inspection:
    """The remarks that a submission adds. `whole`: a change in one file may make remarks on another.

    Blocked when the submission is, whatever the start was like.
    """
    names = None if whole else exhibit.changed
    files = python_files(exhibit.now, names)
    if not files or not python_files(exhibit.artefacts, exhibit.changed):
        return Inspection()
    before = Counter(
        remark.key
        for remark in baseline(exhibit, config, inspect).remarks
        if names is None or remark.file in names
    )
    found = inspect(exhibit, files)
    return Inspection(tuple(_beyond(before, found.remarks)), found.blocked)


def _beyond(before: Counter[tuple[str, str]], remarks: tuple[Remark, ...]) -> list[Remark]:
    new = []
    for remark in remarks:
        if before[remark.key] > 0:
            before[remark.key] -= 1
        else:
            new.append(remark)
    return new


def counted(found: Inspection, wanted: Wanted, step: float) -> Reading:
    """A reading that counts new remarks: each beyond the allowance takes `step` from 1; blocked is worth nothing."""
    if found.blocked:
        return Reading(float(len(found.remarks) + 1), 0.0, (Remark("blocked", "", 0, found.blocked),))
    over = max(0, len(found.remarks) - wanted.allowance)
    return Reading(float(len(found.remarks)), max(0.0, 1.0 - step * over), found.remarks)


def read_added(exhibit: Exhibit, wanted: Wanted, config: str, inspect: Inspect, step: float) -> Reading:
    """The reading of a signal that counts what a submission adds; not applicable where the start blocks the tool."""
    if python_files(exhibit.start) and (why := baseline(exhibit, config, inspect).blocked):
        return not_applicable(f"the start cannot be looked at: {why}")
    return counted(added(exhibit, config, inspect), wanted, step)


def remarks_on(files: Mapping[str, bytes], rows: Iterable[Row]) -> tuple[Remark, ...]:
    """Rows as remarks, each with the text of its line."""
    lines: dict[str, list[str]] = {}
    found = []
    for code, file, line, message in rows:
        if file not in lines:
            lines[file] = lines_of(files.get(file, b""))
        known = lines[file]
        text = " ".join(known[line - 1][:LONGEST_LINE].split()) if 0 < line <= len(known) else ""
        found.append(Remark(code, file, line, message, text))
    return tuple(found)
