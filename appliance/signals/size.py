"""`size`: how much a submission changes, measured by what the gold changes.

A line counts when it is not blank, and a long one as several. Lines that were only moved do not count. Up to a few
times the gold nothing is lost: another way to write it is no fault.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from appliance.nouns import Task
from appliance.signals import Exhibit, Reading, Remark, Wanted
from appliance.signals.start_tree import lines_of

ROLES = ("secondary", "gate", "monitor")
OPTIONS: tuple[str, ...] = ()
TOOLS: tuple[str, ...] = ()
LANGUAGE = ""
LINE = 100
"""Characters that count as one line."""
FREE_LINES = 10
FREE_TIMES, WORTHLESS_TIMES = 2.0, 10.0
"""Up to so many times the gold's change the value is 1, from so many times what is free it is 0."""
CONFIG = f"{LINE} {FREE_LINES} {FREE_TIMES} {WORTHLESS_TIMES}"


def applies(task: Task) -> str:
    """Every task's submission has a size."""
    return ""


def read(exhibit: Exhibit, wanted: Wanted) -> Reading:
    """Raw: lines added and removed."""
    size = change_size(exhibit.start, exhibit.artefacts)
    free = FREE_TIMES * change_size(exhibit.start, exhibit.gold) + FREE_LINES
    if size <= free:
        return Reading(float(size), 1.0)
    value = max(0.0, 1.0 - math.log(size / free) / math.log(WORTHLESS_TIMES))
    told = Remark("large", "", 0, f"{size} lines changed, {free:g} are free")
    return Reading(float(size), value, (told,))


def change_size(start: Mapping[str, bytes], artefacts: Mapping[str, bytes]) -> int:
    """Lines that only one of the two has, in all files of a submission together."""
    before, after = Counter[str](), Counter[str]()
    for name, body in artefacts.items():
        before.update(_lines(start.get(name, b"")))
        after.update(_lines(body))
    differing = (before - after) + (after - before)
    return sum(count * math.ceil(len(line) / LINE) for line, count in differing.items())


def _lines(body: bytes) -> list[str]:
    return [line for line in map(str.strip, lines_of(body)) if line]
