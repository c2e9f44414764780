"""Starts the parts of a run in order and registers how each is ended; the stack closes them in reverse."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from appliance.audits import Lot
from appliance.daemon.crew import EmbeddedCrew
from appliance.daemon.gear import Gear
from appliance.daemon.handlers import Desk
from appliance.daemon.policy import EnginePolicy
from appliance.engine.client import Engine, EngineSettings
from appliance.golds import GoldControl
from appliance.journal import Journal
from appliance.judge import Judge
from appliance.learn.base import Base
from appliance.learn.client import Learner
from appliance.learn.settings import LearnerSettings, LoraSettings
from appliance.leash import Leash
from appliance.nouns import Task, Verdict
from appliance.plan import Plan
from appliance.queue.client import Queue
from appliance.queue.workers import JobContext, Overrun, Workers
from appliance.sandbox.witness import Witness
from appliance.seal import seal_at

JAIL_THREADS = 2
"""For each core, the most: how many of them work is the queue's to fit to the load."""
MAX_ATTEMPT_THREADS = 512
"""A thread waits for each attempt of a batch; a larger batch is worked off in the same order."""


def start_crew(stack: ExitStack, plan: Plan, gear: Gear, stop: Callable[[], bool]) -> EmbeddedCrew:
    """Start engine, learner, queue and workers for a run. Raises what the first failing part raises."""
    journal, base = gear.journal, gear.base
    engine = stack.enter_context(Engine(_engine_settings(plan, base), plan.folder / "engine.log"))
    learner = None
    if plan.recipe.grpo.updates:
        learner = stack.enter_context(Learner(_learner_settings(plan, base), plan.folder / "learner.log"))
    policy = EnginePolicy(engine, plan.base_version, lambda: journal.event("engine.restarted"))
    queue = stack.enter_context(Queue(gear.paths.queue))
    queue.cancel_group(plan.run_id)
    tell = _Teller(gear, queue, plan.recipe.grpo.updates)
    crew = EmbeddedCrew(journal.store, queue, policy, learner, f"{time.time_ns():x}", stop, tell)
    lot = Lot(plan.recipe.judge.audit_share, plan.recipe.seed)
    judge, seal = Judge(gear.yard), seal_at(gear.paths.verifier_key)
    golds = GoldControl(judge, seal, partial(_tell_broken, journal))
    desk = Desk(journal.store, judge, policy, plan.library, crew.submit_judging, lot, Witness, seal, golds)
    workers = stack.enter_context(_workers(queue, desk, plan))
    crew.closed = lambda: workers.closed
    crew.beaten = lambda: workers.beaten
    # Runs before the workers are joined: an interrupted batch must not be sampled to its end first.
    stack.callback(policy.halt)
    return crew


def _tell_broken(journal: Journal, group_id: str, task: Task, gold: Verdict) -> None:
    journal.event("task.broken", task=task.key, group=group_id, status=gold.status, seed=str(gold.seed))


def _engine_settings(plan: Plan, base: Base) -> EngineSettings:
    table = plan.recipe.engine
    return EngineSettings(
        model=str(base.rollout_gguf),
        slots=table.slots,
        threads=table.threads,
        gpu_layers=table.gpu_layers,
        base_version=plan.base_version,
    )


def _learner_settings(plan: Plan, base: Base) -> LearnerSettings:
    grpo, table = plan.recipe.grpo, plan.recipe.learner
    return LearnerSettings(
        base=str(base.folder),
        lora=LoraSettings(grpo.rank, grpo.alpha),
        learning_rate=grpo.learning_rate,
        seed=plan.recipe.seed,
        device=table.device,
        threads=table.threads,
        weight_cap=grpo.weight_cap,
        grad_clip=grpo.grad_clip,
        temperature=plan.recipe.sampling.temperature,
    )


def _workers(queue: Queue, desk: Desk, plan: Plan) -> Workers:
    grpo, evaluation = plan.recipe.grpo, plan.recipe.evaluation
    batches = {
        "attempt": grpo.tasks_per_update * grpo.attempts_per_task,
        "evaluate": len(plan.eval_tasks) * evaluation.attempts,
    }
    threads = {
        "model": min(max(batches.values()), MAX_ATTEMPT_THREADS),
        "jails": JAIL_THREADS * (os.cpu_count() or 1),
    }
    handlers = {
        "attempt": lambda context: desk.make_attempt(context.payload),
        "evaluate": lambda context: desk.make_attempt(context.payload),
        "judge": lambda context: _judge(desk, context),
    }
    return Workers(queue, handlers, threads)


def _judge(desk: Desk, context: JobContext) -> dict[str, Any]:
    """Judge on a leash: a job that is not wanted any more, or over the time of a first try, holds no jail."""
    leash = Leash()
    context.on_cancel(leash.cut)
    with _cut_after(context.limit_s, leash):
        result = desk.judge_attempt(context.payload, leash, context.attempt)
    context.took(start_s=leash.start_s, teardown_s=leash.teardown_s)
    if leash.is_cut and not context.cancelled:
        raise Overrun
    return result


@contextmanager
def _cut_after(seconds: float | None, leash: Leash) -> Iterator[None]:
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, leash.cut)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class _Teller:
    """Turns progress of a batch into the live row."""

    def __init__(self, gear: Gear, queue: Queue, updates: int) -> None:
        self._gear, self._queue, self._updates = gear, queue, updates

    def __call__(self, data: dict[str, Any]) -> None:
        depth = self._queue.depth()
        self._gear.journal.live(**data, updates=self._updates, jails=self._gear.yard.live, queue=depth)
