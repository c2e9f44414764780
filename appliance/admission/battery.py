"""The admission battery: every check in order, its evidence kept. A task is used only after it passed."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from appliance.admission import calibration, duplicates, golds, hostile, leaks, mutation, statement
from appliance.admission.check import Check
from appliance.admission.golds import Files, GoldRuns
from appliance.admission.screen import Screen
from appliance.errors import UsageError
from appliance.judge import Judge
from appliance.nouns import Task, Verdict
from appliance.store import Store
from appliance.tables import nearest
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

        def one(pair: tuple[Files, int]) -> Verdict:
            return self.judge.judge(self.task, pair[0], seed=pair[1])

        return list(self.threads.map(one, zip(submissions, seeds, strict=True)))

    @cached_property
    def runs(self) -> GoldRuns:
        return golds.run_gold(self.task, self.judged)

    @cached_property
    def screen(self) -> Screen:
        return Screen(self.task, self.yard.of(self.task), seed=0)


def _mutants(subject: Subject) -> Check:
    if subject.task.kind != "function":
        return mutation.check(subject.task, subject.judged)
    return mutation.check(subject.task, subject.judged, lambda source: subject.screen.equivalent(source))


def _written_by_model(subject: Subject) -> Check:
    return Check("V14", "generated tests", "not_applicable")


BATTERY: Mapping[str, Callable[[Subject], Check]] = {
    "V1": lambda subject: golds.passes(subject.runs),
    "V2": lambda subject: golds.nothing_fails(subject.task, subject.judged),
    "V3": lambda subject: golds.stubs_fail(subject.task, subject.judged),
    "V5": _mutants,
    "V6": lambda subject: golds.alternatives(subject.task, subject.judged),
    "V7": lambda subject: statement.check(subject.task),
    "V8": lambda subject: hostile.check(subject.task, subject.judged),
    "V9": lambda subject: leaks.check(subject.task),
    "V10": lambda subject: golds.stable(subject.runs),
    "V11": lambda subject: golds.within_budget(subject.task, subject.runs),
    "V12": lambda subject: duplicates.check(subject.task, subject.index),
    "V13": lambda subject: calibration.check(subject.task, *subject.base),
}
"""In order. V4 is no check of its own, and V14 concerns tests that a model wrote, which nothing here makes."""


def chosen(names: str) -> tuple[str, ...]:
    """The checks that a list such as `V1,V5` names; all of an empty one. UsageError with the nearest name."""
    found = tuple(name.strip().upper() for name in names.split(",") if name.strip())
    for name in found:
        if name not in BATTERY:
            raise UsageError(f"there is no check {name!r}", remedy=nearest(name, BATTERY))
    return found or tuple(BATTERY)


def examine(subject: Subject, names: Sequence[str]) -> dict[str, Any]:
    """Run the named checks; return the record that is kept. `ok`: none of them failed."""
    checks = []
    for name in names:
        checks.append(BATTERY[name](subject))
        if name == "V1" and checks[-1].state == "failed":
            break  # whatever else is measured of a task whose gold fails says nothing
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
