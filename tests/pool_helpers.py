"""A pack of one function task under governance, and people with accounts of their own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kind_tasks import write_task

from appliance.nouns import Task
from appliance.pool import states
from appliance.pool.record import Change, State
from appliance.store import Store
from appliance.tasks import load_task
from appliance.verdicts import verifier_of

AUTHOR, ADA, BOB = (2000, "author"), (2001, "ada"), (2002, "bob")
FILES = {
    "environment/solution.py": "def double(n):\n    ...\n",
    "solution/solution.py": "def double(n):\n    return 2 * n\n",
    "public/examples.json": json.dumps([{"args": [1], "expected": 2}]),
    "tests/cases.json": json.dumps([{"args": [n], "expected": 2 * n} for n in range(2, 12)]),
}


@dataclass
class Desk:
    """A task folder and the store that governs it; time goes on by a second a step."""

    store: Store
    folder: Path
    time: float = field(default=100.0)

    @property
    def task(self) -> Task:
        return load_task(self.folder)

    @property
    def state(self) -> State:
        return states.state_of(self.store, self.task)

    def battery(
        self, *, ok: bool = True, whole: bool = True, verifier: str = "", checks: Sequence[Any] = ()
    ) -> int:
        """Keep evidence, as the admission battery does."""
        task = self.task
        row: dict[str, Any] = {
            "task_key": task.key,
            "task_hash": task.task_hash,
            "verifier_hash": verifier or verifier_of(task),
            "created": self.time,
            "actor": 0,
            "ok": int(ok),
            "machine": "this",
            "record": {"whole": whole, "checks": list(checks)},
        }
        return self.store.add_admission(row)

    def move(self, state: State, who: tuple[int, str] = AUTHOR, reason: str = "", **rest: Any) -> Change:
        self.time += 1
        actor, name = who
        return states.set_state(
            self.store, self.task, state, actor=actor, name=name, reason=reason, now=self.time, **rest
        )

    def reach(self, state: State) -> None:
        """Go the ordinary way from draft to a state."""
        self.battery()
        for step in ("auto_validated", "in_review", "approved", "active", "quarantined", "retired"):
            if self.state == state:
                return
            approvers = [ADA, BOB] if step == "approved" and self.task.split == "eval" else [ADA]
            for who in approvers if step == "approved" else [AUTHOR]:
                self.move(step, who)
        assert self.state == state

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def copy(self, name: str) -> Desk:
        """Another task with the same content but for its key."""
        other = Desk(self.store, self.folder.with_name(name))
        shutil.copytree(self.folder, other.folder)
        for file in ("pool.toml", "task.toml"):
            other.edit(file, self.task.key, f"made/{name}")
        return other


def open_desk(folder: Path, split: str = "train") -> Desk:
    place = write_task(folder / "made" / "task", "function", 'entry_point = "double"', FILES)
    desk = Desk(Store(folder / "store.db", folder / "objects"), place)
    if split != "train":
        desk.edit("pool.toml", 'split = "train"', f'split = "{split}"')
    return desk
