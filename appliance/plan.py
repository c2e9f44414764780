"""What a run is to do, resolved, and the verbs of the processes that it does it with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from appliance import agent
from appliance.errors import ConfigError
from appliance.nouns import Card, Sample
from appliance.orders import Order
from appliance.pool.library import Library
from appliance.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Trained:
    """What an earlier run trained: the file of its adapter, and the policy version that makes."""

    adapter: Path
    version: str


def policy_version(base_version: str, run_id: str, step: int) -> str:
    """The policy after `step` (1 or more) updates of a run."""
    return f"{base_version}+{run_id}.u{step:04d}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is to do, resolved."""

    run_id: str
    recipe: Recipe
    folder: Path
    base_version: str
    train_tasks: tuple[Card, ...]
    eval_tasks: tuple[Card, ...]
    canaries: tuple[Card, ...] = ()
    """What no honest attempt can solve: tried now and then, never learned from."""
    library: Library = field(default_factory=Library)
    """All of these, to be opened."""
    policy: Trained | None = None
    """What is evaluated instead of the base; None where a run trains."""

    def version(self, step: int) -> str:
        """The policy version after `step` updates."""
        if step == 0:
            return self.policy.version if self.policy else self.base_version
        return policy_version(self.base_version, self.run_id, step)


def check_plan(plan: Plan) -> None:
    """Refuse a plan that cannot be carried out, before anything is started."""
    wanted, found = plan.recipe.grpo.tasks_per_update, len(plan.train_tasks)
    _check_harness(plan)
    if plan.recipe.grpo.updates and wanted > found:
        raise ConfigError(
            f"grpo.tasks_per_update is {wanted} but the packs hold {found} train tasks{_counted(plan)}",
            remedy="lower it or add a pack to tasks.packs",
        )
    if not plan.eval_tasks:
        raise ConfigError(
            f"the packs hold no task of the split {plan.recipe.evaluation.split!r}{_counted(plan)}",
            remedy="add a pack with such tasks to tasks.packs, or change evaluation.split",
        )


def _counted(plan: Plan) -> str:
    return " that are approved (tasks.approved_only)" if plan.recipe.tasks.approved_only else " in use"


def _check_harness(plan: Plan) -> None:
    """An attempt that cannot be handed in would fail for a reason that is not the policy's."""
    name = plan.recipe.sampling.harness
    served = agent.harness_named(name).KINDS
    for task in (*(plan.train_tasks if plan.recipe.grpo.updates else ()), *plan.eval_tasks):
        if task.kind not in served:
            raise ConfigError(
                f"the harness {name!r} makes no attempts at tasks of the kind {task.kind!r}, such as {task.key}",
                remedy=f"use packs whose tasks are of the kind {', '.join(served)}",
            )


class Stopped(Exception):
    """The operator asked the run to stop; what is done is kept."""


class Learner(Protocol):
    """The verbs of the learner process that the cycle uses."""

    def step(self, samples: Sequence[Sample], planned_tokens: int) -> Any: ...
    def score(self, samples: Sequence[Sample]) -> Sequence[Sequence[float]]: ...


@dataclass(frozen=True, slots=True)
class Rolled:
    """How long a batch took: `sample_s` until the last attempt, `judge_s` from there to the last verdict."""

    sample_s: float = 0.0
    judge_s: float = 0.0

    def __add__(self, other: Rolled) -> Rolled:
        return Rolled(round(self.sample_s + other.sample_s, 3), round(self.judge_s + other.judge_s, 3))


class Crew(Protocol):
    """The processes of a run, started and connected."""

    @property
    def learner(self) -> Learner: ...
    def roll(self, orders: Sequence[Order]) -> Rolled: ...
    def publish(self, adapter: Path, version: str, peft: Path | None) -> float: ...
    def check_stop(self) -> None: ...
