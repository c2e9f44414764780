"""`appliance train` without a daemon: a run composed in one process tree that ends with it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance import checkpoints
from appliance.config import Origins
from appliance.daemon import lock
from appliance.daemon.gear import Gear
from appliance.daemon.means import check_means
from appliance.errors import (
    ApplianceError,
    ConfigError,
    IntegrityError,
    StoreError,
    UsageError,
)
from appliance.journal import Journal, Listener
from appliance.nouns import Task
from appliance.paths import Paths
from appliance.recipe import Recipe, recipe_from_json
from appliance.store import Store
from appliance.tasks import load_pack, shipped_packs
from appliance.training import Plan, Stopped, check_plan, train
from appliance.yard import Yard


@dataclass(frozen=True, slots=True)
class Wish:
    """What the operator asked for: a new run of a recipe, or (`resume`) to go on with an earlier one."""

    recipe: Recipe
    origins: Origins
    resume: str = ""
    source: str = ""
    """The file that the recipe came from, for messages."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: `finished` or `stopped` (it can be resumed)."""

    run_id: str
    folder: Path
    state: str


def wish_to_resume(paths: Paths, run_id: str) -> Wish:
    """Read back what an earlier run was to do, from its folder.

    Raises NotFoundError, IntegrityError, and UsageError for a run that is done.
    """
    with Store(paths.store, paths.objects) as store:
        row = store.run(run_id)
    if row["state"] == "finished":
        raise UsageError(
            f"{run_id} is finished; there is nothing to go on with",
            remedy=f"appliance run show {run_id}, or start a new run",
        )
    path = paths.runs / run_id / "recipe.json"  # not the recorded folder: this home may be a copy
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        recipe = recipe_from_json(saved["recipe"], str(path))
        return Wish(recipe, Origins(saved["origins"]), resume=run_id, source=str(path))
    except (OSError, ValueError, KeyError) as error:
        raise IntegrityError(f"{path}: cannot be read back: {error}", remedy="start a new run") from None


def run(wish: Wish, paths: Paths, listeners: tuple[Listener, ...], stop: Callable[[], bool]) -> Outcome:
    """Carry out a wish from preparation to the last evaluation.

    Raises ApplianceError; by then the run is recorded as failed and can be resumed. A wish that cannot be
    carried out (bad recipe, pack or model) is refused before a run is recorded.
    """
    from appliance.learn.base import prepare
    from appliance.starter import starter_model

    with _naming(wish.source):
        tasks = _load_tasks(wish.recipe)
    gguf = wish.recipe.model.gguf
    with lock.single_run(paths), Store(paths.store, paths.objects) as store, Yard(paths, warm=True) as yard:
        with _naming(wish.source):
            yard.prove(tasks)
            check_means(wish.recipe, paths, yard.default)
        source = starter_model(paths) if gguf == "starter" else Path(gguf)
        base = prepare(source, paths.bases, lambda text: _tell(listeners, "base.preparing", text=text))
        version = f"{base.architecture}-{base.fingerprint[:12]}"
        with _naming(wish.source):
            plan = _open_run(wish, paths, store, tasks, version)
        journal = Journal(store, plan.run_id, plan.folder, time.time, listeners)
        try:
            with _closing_run(store, journal):
                if not wish.resume:
                    digest = wish.recipe.hash
                    journal.event("run.started", recipe_hash=digest, seed=wish.recipe.seed, base=version)
                _work(plan, Gear(paths, journal, base, yard), stop)
        except Stopped:
            return Outcome(plan.run_id, plan.folder, "stopped")
        return Outcome(plan.run_id, plan.folder, "finished")


@contextmanager
def _naming(source: str) -> Iterator[None]:
    """What is wrong with a recipe is said with its file."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{source}: {error.message}", remedy=error.remedy) from error


def _load_tasks(recipe: Recipe) -> tuple[Task, ...]:
    shipped = shipped_packs()
    tasks: dict[str, Task] = {}
    for pack in recipe.tasks.packs:
        folder = shipped.get(pack) or Path(pack)
        if not folder.is_dir():
            raise ConfigError(
                f"tasks.packs: no pack {pack!r}", remedy=f"shipped packs: {', '.join(shipped)}; or a folder"
            )
        for task in load_pack(folder):
            if task.key in tasks:
                raise ConfigError(
                    f"tasks.packs: two packs hold the task {task.key!r}", remedy="drop one of the packs"
                )
            tasks[task.key] = task
    return tuple(tasks[key] for key in sorted(tasks))


def _open_run(wish: Wish, paths: Paths, store: Store, tasks: tuple[Task, ...], base_version: str) -> Plan:
    created = time.time()
    run_id = wish.resume or _new_id(wish.recipe, store, created)
    folder = paths.runs / run_id
    train_tasks = tuple(task for task in tasks if task.split == "train")
    eval_tasks = tuple(task for task in tasks if task.split == "eval")
    plan = Plan(run_id, wish.recipe, folder, base_version, train_tasks, eval_tasks)
    check_plan(plan)
    hashes = {task.key: task.task_hash for task in tasks}
    if wish.resume:
        _check_unchanged(folder, base_version, hashes)
        store.set_run(run_id, state="running", finished=None)
        return plan
    saved = {
        "recipe": wish.recipe.to_json(),
        "origins": wish.origins.of,
        "base": base_version,
        "tasks": hashes,
    }
    try:
        folder.mkdir(parents=True)
        (folder / "recipe.json").write_text(json.dumps(saved, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{folder}: {error.strerror}", remedy="free disk space or set APPLIANCE_HOME"
        ) from error
    store.add_run(run_id, created=created, seed=wish.recipe.seed, recipe=wish.recipe.to_json(), folder=folder)
    store.set_run(run_id, base=base_version)
    return plan


def _new_id(recipe: Recipe, store: Store, created: float) -> str:
    """A readable id; a second run within the second gets a suffix."""
    stem = f"{recipe.name}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(created))}-s{recipe.seed}"
    taken = {row["id"] for row in store.runs()}
    names = (stem if count == 0 else f"{stem}-{count}" for count in range(len(taken) + 1))
    return next(name for name in names if name not in taken)


def _check_unchanged(folder: Path, base_version: str, hashes: dict[str, str]) -> None:
    saved = json.loads((folder / "recipe.json").read_text(encoding="utf-8"))
    changed = [key for key, value in saved["tasks"].items() if hashes.get(key) != value]
    if saved["base"] != base_version or changed:
        what = f"tasks {', '.join(changed[:3])}" if changed else "the base model"
        raise IntegrityError(f"{what} changed since the run began", remedy="start a new run")


@contextmanager
def _closing_run(store: Store, journal: Journal) -> Iterator[None]:
    """Record how the run ended, whatever happens."""
    try:
        yield
    except (Stopped, KeyboardInterrupt):
        _close(store, journal, "stopped")
        raise
    except ApplianceError as error:
        _close(store, journal, "failed", error=error.message, error_kind=error.kind)
        raise
    except BaseException as error:
        _close(store, journal, "failed", error=type(error).__name__, error_kind="internal")
        raise
    _close(store, journal, "finished")


def _close(store: Store, journal: Journal, state: str, **data: Any) -> None:
    store.set_run(journal.run_id, state=state, finished=journal.clock())
    journal.event(f"run.{state}", **data)


def _tell(listeners: tuple[Listener, ...], kind: str, **data: Any) -> None:
    for listen in listeners:
        listen(kind, data)


def _work(plan: Plan, gear: Gear, stop: Callable[[], bool]) -> None:
    """Start the processes, restore the newest checkpoint if there is one, and train."""
    from appliance.daemon.parts import start_crew

    journal = gear.journal
    with ExitStack() as stack:
        crew = start_crew(stack, plan, gear, stop)
        restored = checkpoints.newest(plan.folder)
        first = 1
        if restored is None and journal.store.updates(plan.run_id):
            raise IntegrityError(
                f"{plan.folder}/checkpoints holds no checkpoint, but updates of this run are recorded",
                remedy="put the checkpoints back, or start a new run",
            )
        if restored:
            crew.learner.load(restored.learner)
            crew.publish(
                plan.folder / "adapters" / f"u{restored.step:04d}.gguf", restored.policy_version, None
            )
            first = restored.step + 1
            journal.event("run.resumed", step=restored.step, policy_version=restored.policy_version)
        done = train(plan, crew, journal, time.time, first)
        if done:
            adapters = plan.folder / "adapters"
            crew.learner.export_adapter(adapters / "final.gguf", adapters / "peft", plan.version(done))
