"""`duplication`: code that a submission repeats, beyond what was repeated before.

Repeated is a run of lines that stands somewhere else in the submission's files or the start too; comments, blank
lines and indentation do not make two runs different, and lines without a word (closing brackets) are no code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from appliance.nouns import Task
from appliance.signals import Exhibit, Reading, Remark, Wanted
from appliance.signals.start_tree import lines_of

ROLES = ("secondary", "gate", "monitor")
OPTIONS: tuple[str, ...] = ()
TOOLS: tuple[str, ...] = ()
LANGUAGE = ""
RUN = 5
"""Lines from which a repetition counts."""
FREE_SHARE, WORTHLESS_SHARE = 0.1, 0.6
"""Of the lines of the changed files: up to this share the value is 1, from that one it is 0."""
MOST_LINES = 200_000
CONFIG = f"{MOST_LINES} {RUN} {FREE_SHARE} {WORTHLESS_SHARE}"

_COMMENT = re.compile(r"(^|\s)(#|--|//).*")
_WORD = re.compile(r"\w")


def applies(task: Task) -> str:
    """Configuration repeats itself by its nature; a query is too short to."""
    return f"a {task.kind} task has no code to repeat" if task.kind in ("config", "sql") else ""


def read(exhibit: Exhibit, wanted: Wanted) -> Reading:
    """Raw: repeated lines that were not repeated before."""
    changed = sorted(exhibit.changed)
    lines = sum(body.count(b"\n") + body.count(b"\r") for body in exhibit.now.values())
    if lines > MOST_LINES:
        return Reading(
            float(lines), 0.0, (Remark("repeated", "", 0, f"{lines} lines are too many to compare"),)
        )
    after = repeated(exhibit.now)
    before = repeated(exhibit.start)
    extra = max(0, sum(map(len, after.values())) - sum(map(len, before.values())))
    total = sum(len(_code(exhibit.artefacts[name])) for name in changed)
    share = extra / total if total else 0.0
    if share <= FREE_SHARE:
        return Reading(float(extra), 1.0)
    value = max(0.0, 1.0 - (share - FREE_SHARE) / (WORTHLESS_SHARE - FREE_SHARE))
    where = next((name for name in changed if after.get(name)), "")
    line = min(after[where]) if where else 0
    told = Remark("repeated", where, line, f"{extra} of {total} lines are repeated")
    return Reading(float(extra), value, (told,))


def repeated(files: Mapping[str, bytes]) -> dict[str, set[int]]:
    """The numbers of the lines that stand in a repeated run, by file."""
    code = {name: _code(body) for name, body in files.items()}
    runs = Counter(run for lines in code.values() for _, run in _runs(lines))
    found: dict[str, set[int]] = {name: set() for name in files}
    for name, lines in code.items():
        for position, run in _runs(lines):
            if runs[run] > 1:
                found[name].update(number for number, _ in lines[position : position + RUN])
    return found


def _runs(lines: list[tuple[int, str]]) -> list[tuple[int, tuple[str, ...]]]:
    """Every run of lines with its position; one that overlaps itself, as equal lines do, is one repetition too."""
    texts = [text for _, text in lines]
    return [(place, tuple(texts[place : place + RUN])) for place in range(len(texts) - RUN + 1)]


def _code(body: bytes) -> list[tuple[int, str]]:
    """The lines that hold code, with their numbers."""
    plain = ((number, _COMMENT.sub("", line).strip()) for number, line in enumerate(lines_of(body), 1))
    return [(number, line) for number, line in plain if _WORD.search(line)]
