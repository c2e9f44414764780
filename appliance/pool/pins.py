"""What a run pins: the content of each task, and what judges it. What differs later ends the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from appliance.errors import IntegrityError
from appliance.manifest import check_unchanged
from appliance.nouns import Task
from appliance.verdicts import verifier_now, verifier_of

Pins = Mapping[str, Sequence[str]]
"""Task hash and verifier hash by the key of the task."""

REMEDY = "put back what was there and resume the run, or start a new run"


def pins_of(tasks: Iterable[Task]) -> dict[str, list[str]]:
    """The pins of tasks as they were loaded."""
    return {task.key: [task.task_hash, verifier_of(task)] for task in tasks}


def check_same(before: Pins, now: Pins) -> None:
    """IntegrityError where a resumed run would work on other tasks, or be judged otherwise, than it began with."""
    for place, what in (
        (0, "tasks {} changed since the run began"),
        (1, "what judges {} changed since the run began"),
    ):
        changed = [key for key, pin in before.items() if key not in now or now[key][place] != pin[place]]
        if changed:
            raise IntegrityError(what.format(", ".join(changed[:3])), remedy=REMEDY)


def check_disk(pins: Pins, tasks: Iterable[Task]) -> None:
    """IntegrityError when a folder, or the code that judges it, is not what it was when the run began.

    Reads the files of `tasks`: for those that are about to be tried.
    """
    verifiers: dict[str, str] = {}
    for task in tasks:
        if not Path(task.folder).is_dir():
            raise IntegrityError(f"{task.folder} is gone, which the run works on", remedy=REMEDY)
        check_unchanged(Path(task.folder), task.public_hash, task.hidden_hash)
        judged_by = pins[task.key][1]
        if verifiers.setdefault(judged_by, verifier_now(task)) != judged_by:
            raise IntegrityError(f"what judges {task.key} changed during the run", remedy=REMEDY)
