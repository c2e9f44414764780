"""The processes of one run, connected: engine, learner, queue with its workers, jails and judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from appliance.daemon.handlers import JUDGE_TRIES
from appliance.daemon.policy import EnginePolicy
from appliance.errors import BY_KIND, ApplianceError, EngineError, LearnerError, StoreError
from appliance.learn.client import Learner
from appliance.orders import Order
from appliance.plan import Rolled, Stopped
from appliance.queue.client import Queue
from appliance.queue.records import Job, Request
from appliance.store import Store

POLL_S = 0.5
GATE_PATIENCE_S = 20.0
KEEP_ADAPTERS = 2


@dataclass
class EmbeddedCrew:
    """A crew inside this process tree.

    `incarnation` names this start of the run in job keys, so that the jobs of an earlier, dead start are
    never taken for ours. `stop` answers whether the operator asked to stop. `tell` reports progress while rolling.
    """

    store: Store
    queue: Queue
    policy: EnginePolicy
    trainer: Learner | None
    """None in a run that only evaluates."""
    incarnation: str
    stop: Callable[[], bool]
    tell: Callable[[dict[str, Any]], None]
    beaten: Callable[[], float] = time.monotonic
    """When the keeper of the queue last beat, by the monotonic clock."""
    closed: Callable[[], str] = str
    """Why no job is started at the moment; empty when they are."""
    step: int = 0
    """The update or evaluation being rolled, for progress."""

    @property
    def learner(self) -> Learner:
        if self.trainer is None:
            raise LearnerError("a run without updates has no learner", remedy="raise grpo.updates")
        return self.trainer

    def check_stop(self) -> None:
        """Raises Stopped when the operator asked for it."""
        if self.stop():
            raise Stopped

    def roll(self, orders: Sequence[Order]) -> Rolled:
        """Make and judge what is not yet made and judged; returns when every verdict is in the store."""
        started = time.monotonic()
        self.step = orders[0].step
        known = self.store.outcomes(orders[0].run_id, orders[0].step, orders[0].purpose)
        made = {key for key, row in known.items() if row["policy_version"] == orders[0].policy_version}
        judged = {key for key in made if known[key]["status"] is not None}
        attempts = self._submit_attempts([order for order in orders if order.attempt_id not in made])
        tasks = {order.attempt_id: order.task_key for order in orders}
        judgings = [
            self.submit_judging(key, orders[0].run_id, tasks[key])
            for key in sorted(made - judged)
            if key in tasks
        ]
        done = self._wait(attempts, "sample", len(orders))
        sampled = time.monotonic()
        judgings += [job.result["judge_job"] for job in done if job.result]
        self._wait(judgings, "judge", len(orders))
        return Rolled(round(sampled - started, 3), round(time.monotonic() - sampled, 3))

    def submit_judging(self, attempt_id: str, run_id: str, task_key: str) -> str:
        """Queue the judging of a recorded attempt; the same attempt twice is one job."""
        key = f"judge:{attempt_id}@{self.incarnation}"
        payload = {"attempt_id": attempt_id}
        return self.queue.submit(
            "judge", payload, key=key, group=run_id, label=task_key, max_attempts=JUDGE_TRIES
        )

    def publish(self, adapter: Path, version: str, peft: Path | None) -> float:
        """Export the learner's weights and attach them; returns the seconds both took.

        The file lies in the run folder: it is read back at once, from the page cache.
        """
        started = time.monotonic()
        adapter.parent.mkdir(parents=True, exist_ok=True)
        self.learner.export_adapter(adapter, peft, version)
        self.policy.publish(adapter, version)
        for old in sorted(adapter.parent.glob("u*.gguf"))[:-KEEP_ADAPTERS]:
            old.unlink(missing_ok=True)
        return round(time.monotonic() - started, 3)

    def _submit_attempts(self, orders: Sequence[Order]) -> list[str]:
        name = f"@{self.incarnation}"
        placed = [
            replace(order, batch=order.batch + name, place=place, size=len(orders))
            for place, order in enumerate(orders)
        ]
        return self.queue.submit_many(
            [
                Request(
                    "evaluate" if order.purpose == "eval" else "attempt",
                    order.to_json(),
                    key=order.attempt_id + name,
                    group=order.run_id,
                )
                for order in placed
            ]
        )

    def _wait(self, jobs: Sequence[str], stage: str, total: int) -> list[Job]:
        """Wait for jobs, telling progress; a job that failed for good ends the run, which can be resumed."""
        before, moved = -1, time.monotonic()
        while True:
            self.check_stop()
            found = self.queue.wait(jobs, timeout_s=POLL_S)
            open_jobs = sum(job.open for job in found)
            if open_jobs != before or any(job.state == "leased" for job in found):
                before, moved = open_jobs, time.monotonic()
            self._check_gates(time.monotonic() - moved)
            self.tell(
                {
                    "stage": stage,
                    "step": self.step,
                    "attempts_done": total - open_jobs,
                    "attempts_total": total,
                }
            )
            failed = [job for job in found if not job.open and job.state != "done"]
            if failed:
                raise _failure(failed)
            if not open_jobs:
                return found

    def _check_gates(self, idle_s: float) -> None:
        """Raise StoreError when nothing of a batch has started for long because the machine is full."""
        if idle_s > GATE_PATIENCE_S and (why := self.closed()):
            raise StoreError(
                f"no job was started for {idle_s:.0f} s, {why}",
                remedy="free disk space or memory; the run can be resumed",
            )


def _failure(failed: Sequence[Job]) -> ApplianceError:
    """The error of the first job, at the boundary it crossed there."""
    first = failed[0]
    message = (
        f"{len(failed)} jobs of class {first.class_} failed for good; the first: {first.error or first.state}"
    )
    remedy = "see engine.log in the run folder; the run can be resumed from its last checkpoint"
    return BY_KIND.get(first.error_kind, EngineError)(message, remedy=remedy)
