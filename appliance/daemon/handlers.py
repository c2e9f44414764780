"""What the jobs of each class do: thin, since the work is in core."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from appliance import agent, audits
from appliance.errors import IntegrityError, NotFoundError, SandboxError
from appliance.flakes import Case, Flakes
from appliance.golds import GoldControl
from appliance.judge import Judge
from appliance.leash import Leash
from appliance.nouns import Task
from appliance.orders import Order
from appliance.seal import Seal
from appliance.store import Store
from appliance.verdicts import verifier_of

JUDGE_TRIES = 5
"""A host fault is tried again later, in a new jail, before the attempt is masked; a decided verdict never is."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What the handlers need. `submit_judging` queues the judging of an attempt at a task and gives its job."""

    store: Store
    judge: Judge
    policy: agent.Policy
    tasks: Mapping[str, Task]
    submit_judging: Callable[[str, str, str], str]
    lot: audits.Lot
    watch: audits.Watch
    seal: Seal
    golds: GoldControl

    def make_attempt(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Job class `attempt` and `evaluate`: sample, record, hand over to the judge."""
        order = Order.from_json(payload)
        attempt = agent.attempt(order, self._task(order.task_key, order.task_hash), self.policy)
        text = "\n".join(attempt.artefacts.values())
        self.store.add_attempt(attempt, text, time.time())
        return {"judge_job": self.submit_judging(attempt.id, attempt.run_id, attempt.task_key)}

    def judge_attempt(self, payload: Mapping[str, Any], leash: Leash, tries: int) -> dict[str, Any]:
        """Job class `judge`, for the `tries`-th time. One seed per group, so that siblings meet the same cases.

        SandboxError for a fault of the host that is to be tried again.

        Cut, it records nothing: another copy of the job has, or will.
        """
        attempt = self.store.attempt(payload["attempt_id"])
        task = self._task(attempt.task_key, attempt.task_hash)
        artefacts = {name: text.encode() for name, text in attempt.artefacts.items()}
        seed = self.seal.seed(attempt.group_id, task)
        flaky = self._flaky(task)
        verdict = self.judge.judge(task, artefacts, seed=seed, leash=leash, flaky=flaky)
        if leash.is_cut:
            return {}
        if verdict.status == "infra" and tries < JUDGE_TRIES:
            raise SandboxError(str(verdict.evidence[0]["text"]), remedy="it is tried again")
        if self.lot.takes(attempt):
            verdict = self.judge.audit(task, artefacts, verdict, self.watch, seed=seed)
        verdict = self.golds.check(attempt.group_id, task, verdict)
        self.store.set_verdict(attempt.id, verdict, time.time())
        return {"status": verdict.status, "reward": verdict.reward}

    def _flaky(self, task: Task) -> frozenset[Case]:
        """The cases that audits found to flip, which have no weight."""
        rows = self.store.flakes(task.task_hash, verifier_of(task))
        return frozenset(case for case, _ in Flakes.from_rows(rows).flaky())

    def _task(self, key: str, wanted_hash: str) -> Task:
        if key not in self.tasks:
            raise NotFoundError(f"no task {key!r} in the packs of this run", remedy="check tasks.packs")
        if self.tasks[key].task_hash != wanted_hash:
            raise IntegrityError(f"task {key!r} changed while the run was going", remedy="start a new run")
        return self.tasks[key]
