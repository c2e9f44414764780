"""The admission battery: every check in order, its evidence kept. A task is used only after it passed."""

from __future__ import annotations

import platform
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from appliance.admission import (
    alternatives,
    calibration,
    duplicates,
    golds,
    hostile,
    leaks,
    mutation,
    statement,
)
from appliance.admission.check import Check
from appliance.admission.golds import Files, GoldRuns
from appliance.admission.screen import Screen
from appliance.admission.surroundings import Elsewhere, Variables
from appliance.errors import UsageError
from appliance.judge import Judge
from appliance.leash import Leash
from appliance.nouns import Task, Verdict
from appliance.store import Store
from appliance.tables import nearest
from appliance.tasks import POOL_FILE
from appliance.verdicts import verifier_of
from appliance.yard import Yard


@dataclass
class Subject:
    """One task under examination: what the checks share is measured once."""

    task: Task
    yard: Yard
    judge: Judge
    threads: ThreadPoolExecutor
    index: duplicates.Index | None
    base: tuple[int, int]
    """Passes and attempts of base models on record."""

    def judged(self, submissions: Sequence[Files], seeds: Sequence[int]) -> list[Verdict]:
        """The verdict on each submission, several judged at the same time."""
        return self._judged(submissions, seeds, [None] * len(submissions))

    def judged_in(
        self, submissions: Sequence[Files], seeds: Sequence[int], places: Sequence[Variables]
    ) -> list[Verdict]:
        """The same, each in its own surroundings."""
        return self._judged(submissions, seeds, [Elsewhere(variables) for variables in places])

    def _judged(
        self, submissions: Sequence[Files], seeds: Sequence[int], leashes: Sequence[Leash | None]
    ) -> list[Verdict]:
        def one(asked: tuple[Files, int, Leash | None]) -> Verdict:
            files, seed, leash = asked
            return self.judge.judge(self.task, files, seed=seed, leash=leash)

        return list(self.threads.map(one, zip(submissions, seeds, leashes, strict=True)))

    @cached_property
    def runs(self) -> GoldRuns:
        return golds.run_gold(self.task, self.judged, self.judged_in)

    @cached_property
    def mutants(self) -> mutation.Score:
        return mutation.score(self.task, self.judged, self._screen.equivalent if self._screen else None)

    @cached_property
    def _screen(self) -> Screen | None:
        return Screen(self.task, self.yard.of(self.task), seed=0) if self.task.kind == "function" else None

    @property
    def screened(self) -> str:
        """How mutants that are no faults were looked for."""
        if self._screen and self._screen.size:
            return f"answers to {self._screen.size} random inputs"
        return "equal syntax only"


@dataclass(frozen=True, slots=True)
class Asked:
    """A check of the battery, and whether it asks what only a gold that passes can answer."""

    run: Callable[[Subject], Check]
    needs_gold: bool = True


def _written_by_model(subject: Subject) -> Check:
    """V14: tests that a model wrote pass on the gold, and find at least one fault."""
    name = "generated tests find faults"
    pool = tomllib.loads((Path(subject.task.folder) / POOL_FILE).read_text("utf-8"))
    if _BY_MODEL not in pool["provenance"]:
        return Check("V14", name, "not_applicable")
    killed = len(subject.mutants.killed)
    reason, remedy = "they find no fault that is put into the gold", "write tests that do"
    return golds.decided("V14", name, killed > 0, {"killed": killed}, reason, remedy)


_BY_MODEL = "model-written"
"""What `provenance` says of a task whose tests a model wrote."""

BATTERY: Mapping[str, Asked] = {
    "V1": Asked(lambda subject: golds.passes(subject.runs), needs_gold=False),
    "V2": Asked(lambda subject: golds.nothing_fails(subject.task, subject.judged)),
    "V3": Asked(lambda subject: golds.stubs_fail(subject.task, subject.judged)),
    "V5": Asked(lambda subject: mutation.check(subject.task, subject.mutants, subject.screened)),
    "V6": Asked(lambda subject: alternatives.check(subject.task, subject.judged)),
    "V7": Asked(lambda subject: statement.check(subject.task), needs_gold=False),
    "V8": Asked(lambda subject: hostile.check(subject.task, subject.judged)),
    "V9": Asked(lambda subject: leaks.check(subject.task), needs_gold=False),
    "V10": Asked(lambda subject: golds.stable(subject.runs), needs_gold=False),
    "V11": Asked(lambda subject: golds.within_budget(subject.task, subject.runs)),
    "V12": Asked(lambda subject: duplicates.check(subject.task, subject.index), needs_gold=False),
    "V13": Asked(lambda subject: calibration.check(subject.task, *subject.base), needs_gold=False),
    "V14": Asked(_written_by_model),
}
"""In order. The notes that the numbers are from have no V4."""

_OF_SOUND_TASKS = {"V5", "V6", "V7", "V13", "V14"}
"""What only a task with an honest solution can be asked. Of a canary the cheat takes the place of the gold."""


def chosen(names: str) -> tuple[str, ...]:
    """The checks that a list such as `V1,V5` names; all of an empty one. UsageError with the nearest name."""
    found = tuple(name.strip().upper() for name in names.split(",") if name.strip())
    for name in found:
        if name not in BATTERY:
            raise UsageError(f"there is no check {name!r}", remedy=nearest(name, BATTERY))
    return tuple(name for name in BATTERY if name in found) or tuple(BATTERY)


def examine(subject: Subject, names: Sequence[str]) -> dict[str, Any]:
    """Run the named checks; return the record that is kept. `ok`: none of them failed.

    Nothing is asked of a gold that fails V1 but whether it is flaky.
    """
    checks: list[Check] = []
    for name in names:
        asked, broken = BATTERY[name], bool(checks) and checks[0].id == "V1" and checks[0].state == "failed"
        if subject.task.split == "canary" and name in _OF_SOUND_TASKS:
            checks.append(
                Check(name, "not asked", "not_applicable", reason="a canary has no honest solution")
            )
        elif broken and asked.needs_gold:
            checks.append(Check(name, "not asked", "not_run", reason="the gold fails V1"))
        else:
            checks.append(asked.run(subject))
    return {
        "task": subject.task.key,
        "task_hash": subject.task.task_hash,
        "verifier_hash": verifier_of(subject.task),
        "whole": tuple(names) == tuple(BATTERY),
        "ok": all(check.state != "failed" for check in checks),
        "checks": [check.to_json() for check in checks],
    }


def keep(store: Store, record: Mapping[str, Any], *, now: float, actor: int) -> int:
    """Keep a record as evidence; `now` in Unix seconds, `actor` a numeric uid. Returns its id."""
    return store.add_admission(
        {
            "task_key": record["task"],
            "task_hash": record["task_hash"],
            "verifier_hash": record["verifier_hash"],
            "created": now,
            "actor": actor,
            "ok": int(record["ok"]),
            "machine": machine(),
            "record": record,
        }
    )


def current(store: Store, task: Task) -> dict[str, Any] | None:
    """The newest evidence, where it is of this content, judged by what judges now, and whole."""
    last = store.last_admission(task.key)
    if last is None or (last["task_hash"], last["verifier_hash"]) != (task.task_hash, verifier_of(task)):
        return None
    return last if last["record"]["whole"] else None


def machine() -> str:
    """The class of this machine, which budgets were measured on."""
    return f"{platform.machine()} {platform.system()} {platform.python_implementation()} {platform.python_version()}"
