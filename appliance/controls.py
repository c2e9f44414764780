"""Submissions whose reward is known before they are judged, and which of them proves that a reward can be had."""

from __future__ import annotations

from pathlib import Path

from appliance.errors import TaskError
from appliance.kinds import load_kind
from appliance.nouns import Task

CHEAT = "solution/cheat"
"""Of a canary: what gives the answers of its wrong key, by the names of what is handed in."""

Controls = dict[str, tuple[dict[str, bytes], float]]
"""Files and wanted reward by label."""


def controls_of(task: Task) -> Controls:
    """The controls of a task. The gold of a canary, which is honest, must earn nothing, and its cheat all."""
    known: Controls = dict(load_kind(task.kind).controls(task))
    if task.split == "canary":
        known |= {"gold": (known["gold"][0], 0.0), "cheat": (passing(task), 1.0)}
    return known


def passing(task: Task) -> dict[str, bytes]:
    """What must earn all: the gold, or the cheat of a canary. TaskError for a canary without one."""
    if task.split != "canary":
        gold: dict[str, bytes] = load_kind(task.kind).controls(task)["gold"][0]
        return gold
    folder = Path(task.folder) / CHEAT
    found = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    if not found:
        raise TaskError(f"{folder} is missing", remedy="add what gives the answers that the wrong key wants")
    return found
