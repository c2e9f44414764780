"""The book of runs: what is waiting, what is going, what became of it. Only who holds the lock writes in it.

A run in the daemon's line is `queued` and has a place; places are counted, so that no clock decides who is next. A
`paused` run keeps its place and is not started. A run that was going when its daemon died is put back at its place;
one that a daemon started three times without a single new update has failed.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from appliance.config import Origins
from appliance.errors import IntegrityError, StoreError, UsageError
from appliance.journal import Journal, Listener
from appliance.paths import Paths
from appliance.recipe import Recipe, recipe_from_json
from appliance.store import Store

MOST_STARTS = 3
"""Starts of a run by a daemon without one new update in between."""
ENDED = frozenset({"finished", "failed", "stopped", "died"})
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wish:
    """What the operator asked for: a new run of a recipe, or (`resume`) to go on with an earlier one."""

    recipe: Recipe
    origins: Origins
    resume: str = ""
    source: str = ""
    """The file that the recipe came from, for messages."""


@dataclass(frozen=True, slots=True)
class Book:
    """The runs of one data folder. `clock` returns Unix seconds; every method may be called from any thread."""

    store: Store
    paths: Paths
    clock: Callable[[], float] = time.time
    listeners: tuple[Listener, ...] = ()
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    """Held by who looks at a run's state and changes it accordingly."""

    def folder(self, run_id: str) -> Path:
        """The run's folder in this home, which may be a copy of the one recorded."""
        return self.paths.runs / run_id

    def journal(self, run_id: str) -> Journal:
        return Journal(self.store, run_id, self.folder(run_id), self.clock, self.listeners)

    # writing down

    def record(self, wish: Wish, state: str) -> str:
        """Write down a new run, its folder first; `queued` is last in the line. Returns its id."""
        with self.lock:
            created = self.clock()
            run_id = self._new_id(wish.recipe, created)
            folder, recipe = self.folder(run_id), wish.recipe.to_json()
            try:
                folder.mkdir(parents=True)
            except OSError as error:
                raise _disk(folder, error) from error
            save_wish(folder, {"recipe": recipe, "origins": dict(wish.origins.of)})
            place = self._last_place() + 1 if state == "queued" else None
            seed = wish.recipe.seed
            self.store.add_run(
                run_id, created=created, seed=seed, recipe=recipe, folder=folder, state=state, place=place
            )
        return run_id

    def settle(self) -> None:
        """Nobody runs what is on record as running: put the daemon's runs back, call the others died."""
        for row in self.store.runs():
            if row["state"] != "running":
                continue
            if row["supervisor"] == "daemon":
                self.change(row["id"], "queued", in_vain=True, why="its daemon died")
            else:
                self.change(row["id"], "died")

    def begin(self, run_id: str, supervisor: str) -> None:
        """Write down that a run is going from now on. UsageError when that was too often in vain."""
        row = self.store.run(run_id)
        done = len(self.store.updates(run_id))
        starts = row["starts"] + 1 if row["starts"] and row["started_at"] == done else 1
        self.store.set_run(
            run_id, state="running", finished=None, supervisor=supervisor, starts=starts, started_at=done
        )
        if supervisor == "daemon" and starts > MOST_STARTS:
            raise UsageError(
                f"started {MOST_STARTS} times without one new update",
                remedy=f"see events.jsonl, engine.log and learner.log in {self.folder(run_id)}, then"
                f" appliance run resume {run_id}",
            )

    def change(self, run_id: str, state: str, *, in_vain: bool = False, **data: Any) -> None:
        """Give a run that is not going another state, and tell. `in_vain`: its last start counts against it."""
        columns: dict[str, Any] = {"state": state, "finished": self.clock() if state in ENDED else None}
        columns |= {"place": None} if state in ENDED else {}
        columns |= {} if in_vain else {"starts": 0}
        self.store.set_run(run_id, **columns)
        self.tell(run_id, f"run.{state}", **data)

    def tell(self, run_id: str, kind: str, **data: Any) -> None:
        """Append an event of a run; one whose folder is gone is told in the chain alone."""
        if self.folder(run_id).is_dir():
            self.journal(run_id).event(kind, **data)
        else:
            self.store.append_event(self.clock(), run_id, kind, os.getuid(), data)

    def enqueue(self, run_id: str) -> None:
        """Put an earlier run into the line: at the place it still has, else last. It gets all its starts anew."""
        with self.lock:
            place = self.store.run(run_id)["place"]
            place = self._last_place() + 1 if place is None else place
            self.store.set_run(run_id, place=place)
            self.change(run_id, "queued")

    # looking up

    def waiting(self) -> list[str]:
        """The queued runs, the next first."""
        rows = [row for row in self.store.runs() if row["state"] == "queued"]
        return [row["id"] for row in sorted(rows, key=lambda row: row["place"] or 0)]

    def wish_to_resume(self, run_id: str) -> Wish:
        """Read back what an earlier run was to do, from its folder.

        Raises NotFoundError, IntegrityError, and UsageError for a run that is done.
        """
        if self.store.run(run_id)["state"] == "finished":
            raise UsageError(
                f"{run_id} is finished; there is nothing to go on with",
                remedy=f"appliance run show {run_id}, or start a new run",
            )
        path = self.folder(run_id) / "recipe.json"
        saved = load_wish(path)
        try:
            recipe, origins = recipe_from_json(saved["recipe"], str(path)), Origins(saved["origins"])
        except KeyError as error:
            raise _unreadable(path, error) from None
        return Wish(recipe, origins, resume=run_id, source=str(path))

    def _last_place(self) -> int:
        return max((row["place"] or 0 for row in self.store.runs()), default=0)

    def _new_id(self, recipe: Recipe, created: float) -> str:
        """A readable id; a second run within the second gets a suffix."""
        stem = f"{recipe.name}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(created))}-s{recipe.seed}"
        taken = {row["id"] for row in self.store.runs()}
        names = (stem if count == 0 else f"{stem}-{count}" for count in range(len(taken) + 1))
        return next(name for name in names if name not in taken)


# the run folder's recipe.json


def load_wish(path: Path) -> dict[str, Any]:
    """Read `recipe.json`: recipe, origins and, once the run was started, base and tasks."""
    try:
        saved: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    return saved


def save_wish(folder: Path, saved: dict[str, Any]) -> None:
    """Write `recipe.json`, whole or not at all."""
    draft, path = folder / ".recipe.json", folder / "recipe.json"
    try:
        with draft.open("w", encoding="utf-8") as stream:
            stream.write(json.dumps(saved, indent=2) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        draft.rename(path)
    except OSError as error:
        raise _disk(folder, error) from error


def _disk(folder: Path, error: OSError) -> StoreError:
    return StoreError(f"{folder}: {error.strerror}", remedy="free disk space or set APPLIANCE_HOME")


def _unreadable(path: Path, error: Exception) -> IntegrityError:
    return IntegrityError(f"{path}: cannot be read back: {error}", remedy="start a new run")
