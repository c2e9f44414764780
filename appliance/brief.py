"""What a reviewer is told of a task: its statement and start, found again in the packs of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.errors import ApplianceError
from appliance.tasks import find_task, shipped_packs


@dataclass(frozen=True, slots=True)
class Brief:
    """The public side of a task; `note` says what is missing or no longer the same."""

    statement: str = ""
    start: str = ""
    note: str = ""


def find_brief(recipe: Mapping[str, Any], task_key: str, task_hash: str) -> Brief:
    """The brief of a task in the packs that a run's recipe names. What cannot be found is told, not raised."""
    names, shipped = recipe.get("tasks", {}).get("packs", ["starter"]), shipped_packs()
    try:
        task = find_task(task_key, [shipped.get(name) or Path(name) for name in names])
    except (ApplianceError, OSError) as error:
        return Brief(note=f"the task cannot be shown: {error}")
    changed = "" if task.task_hash == task_hash else "the task was changed after this attempt"
    return Brief(task.statement, task.start, changed)
