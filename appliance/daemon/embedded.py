"""`appliance train` without a daemon: a run composed in one process tree that ends with it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from appliance import checkpoints
from appliance.agent import harness_named
from appliance.daemon import lock
from appliance.daemon.book import Book, Wish, load_wish, save_wish
from appliance.daemon.gear import Gear
from appliance.daemon.manager import Beats
from appliance.daemon.means import check_means
from appliance.daemon.trained import find_policy
from appliance.daemon.vigil import Vigil
from appliance.errors import ApplianceError, ConfigError, IntegrityError, LearnerError, StoreError
from appliance.journal import Listener
from appliance.nouns import Card
from appliance.paths import Paths, jailer_socket
from appliance.plan import Plan, Stopped, Trained, check_plan
from appliance.pool import pins, states
from appliance.pool.index import load_cards
from appliance.pool.library import Library
from appliance.recipe import Recipe
from appliance.store import Store
from appliance.tasks import shipped_packs
from appliance.training import train
from appliance.yard import Yard


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: `finished` or `stopped` (it can be resumed)."""

    run_id: str
    folder: Path
    state: str


def wish_to_resume(paths: Paths, run_id: str) -> Wish:
    """What an earlier run was to do; as `Book.wish_to_resume`, for who does not hold the lock."""
    with Store(paths.store, paths.objects) as store:
        return Book(store, paths).wish_to_resume(run_id)


def run(wish: Wish, paths: Paths, listeners: tuple[Listener, ...], stop: Callable[[], bool]) -> Outcome:
    """Carry out a wish from preparation to the last evaluation, in a folder that nobody else works in.

    Raises ApplianceError; by then the run is recorded as failed and can be resumed. A wish that cannot be
    carried out (bad recipe, pack or model) is refused before a run is recorded.
    """
    with lock.single_run(paths), Store(paths.store, paths.objects) as store:
        book = Book(store, paths, time.time, listeners)
        book.settle()
        return carry_out(wish, book, Reins("train", stop))


@dataclass(frozen=True, slots=True)
class Reins:
    """Who carries out a run, and how it is held. `stop` says whether to stop, and may keep the caller waiting.

    `ending` names the state of a run that was stopped; `beats` is told where the queue's keeper is heard.
    """

    supervisor: str
    stop: Callable[[], bool]
    ending: Callable[[], str] = lambda: "stopped"
    beats: Beats = field(default_factory=Beats)

    def retries(self, error: ApplianceError) -> bool:
        """Whether the run stays in line: a daemon waits for a disk that failed, starts a learner that died anew.

        What fails again and again before an update is made is given up on when it begins (`Book.begin`).
        """
        return self.supervisor == "daemon" and isinstance(error, StoreError | LearnerError)


def carry_out(wish: Wish, book: Book, reins: Reins) -> Outcome:
    """Carry out a wish in a data folder that is held: what `appliance train` and the daemon have in common."""
    from appliance.learn.base import prepare

    paths, listeners = book.paths, book.listeners
    with _naming(wish.source):
        tasks = cards_of(wish.recipe)
    with Yard(paths, warm=True, jailer=jailer_socket(os.environ)) as yard:
        with _naming(wish.source):
            yard.prove(tasks)
            check_means(wish.recipe, paths, yard.default)
        source = _find_model(wish.recipe, paths)
        base = prepare(source, paths.bases, lambda text: _tell(listeners, "base.preparing", text=text))
        version = f"{base.architecture}-{base.fingerprint[:12]}"
        with _naming(wish.source):
            plan = _open_run(wish, book, tasks, version, reins.supervisor)
        journal = book.journal(plan.run_id)
        try:
            with _closing_run(book, plan.run_id, reins):
                if not book.store.updates(plan.run_id):
                    digest = wish.recipe.hash
                    journal.event("run.started", recipe_hash=digest, seed=wish.recipe.seed, base=version)
                _work(plan, Gear(paths, journal, base, yard), reins)
        except Stopped:
            return Outcome(plan.run_id, plan.folder, reins.ending())
        return Outcome(plan.run_id, plan.folder, "finished")


def _find_model(recipe: Recipe, paths: Paths) -> Path:
    """The GGUF file of a recipe; the starter model is assembled when it is not there yet."""
    from appliance.starter import starter_model

    return starter_model(paths) if recipe.model.gguf == "starter" else Path(recipe.model.gguf)


@contextmanager
def _naming(source: str) -> Iterator[None]:
    """What is wrong with a recipe is said with its file."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{source}: {error.message}", remedy=error.remedy) from error


def cards_of(recipe: Recipe) -> tuple[Card, ...]:
    """The tasks of a recipe's packs in order of key, not opened. Raises ConfigError and TaskError."""
    shipped = shipped_packs()
    cards: dict[str, Card] = {}
    for pack in recipe.tasks.packs:
        folder = shipped.get(pack) or Path(pack)
        if not folder.is_dir():
            raise ConfigError(
                f"tasks.packs: no pack {pack!r}", remedy=f"shipped packs: {', '.join(shipped)}; or a folder"
            )
        for card in load_cards(folder):
            if card.key in cards:
                raise ConfigError(
                    f"tasks.packs: two packs hold the task {card.key!r}", remedy="drop one of the packs"
                )
            cards[card.key] = card
    return tuple(cards[key] for key in sorted(cards))


def _open_run(wish: Wish, book: Book, tasks: tuple[Card, ...], base_version: str, supervisor: str) -> Plan:
    pinned = pins.pins_of(tasks)
    usable = states.active if wish.recipe.tasks.approved_only else states.unbarred
    tasks = tuple(usable(book.store, tasks))
    policy = find_policy(book, wish.recipe, base_version)
    check_plan(make_plan("", wish.recipe, Path(), base_version, tasks, policy))
    run_id = wish.resume or book.record(wish, "running")
    folder = book.folder(run_id)
    _bind(folder, base_version, pinned)
    row = book.store.run(run_id)
    if (row["state"], row["supervisor"]) != ("running", supervisor):  # the daemon began it before preparing
        book.begin(run_id, supervisor)
    book.store.set_run(run_id, base=base_version)
    return make_plan(run_id, wish.recipe, folder, base_version, tasks, policy)


def make_plan(
    run_id: str,
    recipe: Recipe,
    folder: Path,
    base_version: str,
    tasks: tuple[Card, ...],
    policy: Trained | None = None,
) -> Plan:
    train_tasks = tuple(task for task in tasks if task.split == "train")
    split = recipe.evaluation.split
    eval_tasks = tuple(task for task in tasks if split in ("all", task.split))
    served = harness_named(recipe.sampling.harness).KINDS
    canaries = tuple(task for task in tasks if task.split == "canary" and task.kind in served)
    library = Library((*train_tasks, *eval_tasks, *canaries))
    return Plan(run_id, recipe, folder, base_version, train_tasks, eval_tasks, canaries, library, policy)


def _bind(folder: Path, base_version: str, pinned: pins.Pins) -> None:
    """At the first start note what the run works on; at a later one refuse what changed since."""
    saved = load_wish(folder / "recipe.json")
    if "base" not in saved:
        save_wish(folder, saved | {"base": base_version, "pins": pinned})
        return
    if saved["base"] != base_version:
        raise IntegrityError("the base model changed since the run began", remedy="start a new run")
    pins.check_same(saved["pins"], pinned)


@contextmanager
def _closing_run(book: Book, run_id: str, reins: Reins) -> Iterator[None]:
    """Record how the run ended, whatever happens."""
    try:
        yield
    except (Stopped, KeyboardInterrupt):
        state = reins.ending()
        why = {"why": "the daemon ends"} if state == "queued" else {}
        book.change(run_id, state, in_vain=False, **why)
        raise
    except ApplianceError as error:
        told = {"error": error.message, "error_kind": error.kind}
        book.change(run_id, "queued" if reins.retries(error) else "failed", in_vain=True, **told)
        raise
    except BaseException as error:
        book.change(run_id, "failed", error=type(error).__name__, error_kind="internal")
        raise
    book.change(run_id, "finished")


def _tell(listeners: tuple[Listener, ...], kind: str, **data: Any) -> None:
    for listen in listeners:
        listen(kind, data)


def _work(plan: Plan, gear: Gear, reins: Reins) -> None:
    """Start the processes, restore the newest checkpoint if there is one, and train."""
    from appliance.daemon.parts import start_crew

    vigil = Vigil(plan, gear, lambda: reins.ending() == "paused")
    gear, journal = vigil.gear, vigil.gear.journal
    with ExitStack() as stack:
        crew = start_crew(stack, plan, gear, reins.stop)
        vigil.keep(stack, crew)
        stack.callback(setattr, reins.beats, "beaten", None)
        reins.beats.beaten = crew.beaten
        if plan.policy:
            crew.policy.publish(plan.policy.adapter, plan.policy.version)
        restored = checkpoints.newest(plan.folder)
        first = 1
        # The first update is on record a moment before its checkpoint is.
        if restored is None and len(journal.store.updates(plan.run_id)) > 1:
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
        # The budget is counted by a clock that nobody sets.
        done = train(plan, crew, journal, time.monotonic, first)
        if done:
            adapters = plan.folder / "adapters"
            crew.learner.export_adapter(adapters / "final.gguf", adapters / "peft", plan.version(done))
