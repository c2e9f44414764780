"""The training cycle: evaluate, then updates (sample, judge, learn, publish), then evaluate again.

It decides what happens in which order and nothing else: attempts are made by a `Crew`, tokens come from an
engine and updates from a learner that it knows only by their verbs.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from appliance import agent, checkpoints, docket, draw
from appliance.advantage import GroupOutcome, judge_group
from appliance.errors import ConfigError, IntegrityError
from appliance.journal import Journal
from appliance.nouns import Purpose, Sample, Sampling, Task
from appliance.orders import Batch, Order, place_orders
from appliance.recipe import Recipe

PARITY_SAMPLES = 16
PARITY_MEAN_LIMIT = 0.03
"""Mean |difference of log-probability| per token between engine and learner above which training is refused.

An F32 rollout file against a learner with an fp32 body and a bf16 head differs by about 0.013 (fp32 head:
0.001); a wrong adapter, scale or position differs by tenths.
"""


class Stopped(Exception):
    """The operator asked the run to stop; what is done is kept."""


class Learner(Protocol):
    """The verbs of the learner process that the cycle uses."""

    def step(self, samples: Sequence[Sample], planned_tokens: int) -> Any: ...
    def score(self, samples: Sequence[Sample]) -> Sequence[Sequence[float]]: ...


@dataclass(frozen=True, slots=True)
class Rolled:
    """How long a batch took: `sample_s` until the last attempt, `judge_s` from there to the last verdict."""

    sample_s: float
    judge_s: float


class Crew(Protocol):
    """The processes of a run, started and connected."""

    @property
    def learner(self) -> Learner: ...
    def roll(self, orders: Sequence[Order]) -> Rolled: ...
    def publish(self, adapter: Path, version: str, peft: Path | None) -> float: ...
    def check_stop(self) -> None: ...


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
    train_tasks: tuple[Task, ...]
    eval_tasks: tuple[Task, ...]
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
            f"grpo.tasks_per_update is {wanted} but the packs hold {found} train tasks",
            remedy="lower it or add a pack to tasks.packs",
        )
    if not plan.eval_tasks:
        raise ConfigError(
            f"the packs hold no task of the split {plan.recipe.evaluation.split!r}",
            remedy="add a pack with such tasks to tasks.packs, or change evaluation.split",
        )


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


def train(plan: Plan, crew: Crew, journal: Journal, clock: Callable[[], float], first: int = 1) -> int:
    """Carry out the plan from update `first` on; return the updates done. Raises Stopped when asked to."""
    settings, started = plan.recipe.grpo, clock()
    if first == 1:
        _evaluate_once(plan, crew, journal, 0)
    done = first - 1
    for step in range(first, settings.updates + 1):
        _update(plan, crew, journal, step, check_parity=step == first)
        done = step
        if plan.recipe.evaluation.every and step % plan.recipe.evaluation.every == 0:
            _evaluate_once(plan, crew, journal, step)
        if plan.recipe.budget.minutes and clock() - started > 60 * plan.recipe.budget.minutes:
            journal.event("budget.spent", step=step, minutes=plan.recipe.budget.minutes)
            break
    _evaluate_once(plan, crew, journal, done)
    return done


# evaluation


def _evaluate_once(plan: Plan, crew: Crew, journal: Journal, step: int) -> None:
    if any(row["step"] == step for row in journal.store.evaluations(plan.run_id)):
        return
    settings, started = plan.recipe.evaluation, journal.clock()
    journal.event("evaluation.started", step=step, tasks=len(plan.eval_tasks), attempts=settings.attempts)
    batch = _batch(plan, step, step, "eval", settings.temperature, settings.attempts)
    rows, _ = _roll(plan, crew, journal, batch, plan.eval_tasks)
    by_task = {task.key: _tally(task, rows[batch.group_id(task)]) for task in plan.eval_tasks}
    rates = [tally["c"] / tally["n"] for tally in by_task.values() if tally["n"]]
    evaluation = {
        "created": started,
        "pass_rate": statistics.fmean(rates) if rates else None,
        "by_task": by_task,
        "policy_version": batch.policy_version,
        "seconds": round(journal.clock() - started, 3),
    }
    journal.evaluation(step, evaluation)


def _tally(task: Task, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """n attempts that have a reward, c of them passed; a masked attempt counts in neither."""
    known = [row for row in rows if row["reward"] is not None]
    return {
        "n": len(known),
        "c": sum(row["status"] == "pass" for row in known),
        "tier": task.tier,
        "task_hash": task.task_hash,
    }


# one update


def _update(plan: Plan, crew: Crew, journal: Journal, step: int, *, check_parity: bool) -> None:
    settings, started = plan.recipe.grpo, journal.clock()
    tasks = _draw(plan, journal, step)
    journal.event("update.started", step=step, updates=settings.updates)
    sampling = plan.recipe.sampling
    batch = _batch(plan, step, step - 1, "train", sampling.temperature, settings.attempts_per_task)
    rows, rolled = _roll(plan, crew, journal, batch, tasks)
    outcomes = {group: judge_group([row["reward"] for row in members]) for group, members in rows.items()}
    for group, outcome in outcomes.items():
        journal.store.close_group(group, outcome.state, outcome.mean)
    samples = _samples(journal, rows, outcomes)
    if check_parity and samples:
        _check_parity(crew, journal, step, samples[:: max(1, len(samples) // PARITY_SAMPLES)])
    _stage(journal, plan, crew, step, "learn")
    planned = settings.tasks_per_update * settings.attempts_per_task * sampling.max_tokens
    learned = asdict(crew.learner.step(samples, planned)) if samples else {}
    _stage(journal, plan, crew, step, "publish")
    swap_s = _publish(plan, crew, step)
    learn_s = learned.pop("seconds", 0.0)
    times = {"sample_s": rolled.sample_s, "judge_s": rolled.judge_s, "learn_s": learn_s, "swap_s": swap_s}
    version = {"policy_version": plan.version(step)}
    journal.update(step, started, _summary(rows, outcomes) | times | learned | version)
    _checkpoint(plan, crew, journal, step)


def _draw(plan: Plan, journal: Journal, step: int) -> list[Task]:
    """The tasks of an update. Only train groups are evidence: what is held out must not steer the training."""
    recipe, count = plan.recipe, plan.recipe.grpo.tasks_per_update
    if recipe.tasks.draw == "shuffled":
        return draw.draw_shuffled(plan.train_tasks, recipe.seed, step, count)
    past = [draw.Score(*row) for row in journal.store.train_scores(plan.run_id, step)]
    if recipe.tasks.draw == "adaptive":
        return _draw_adaptive(plan, journal, past, step)
    return draw.draw_learnable(plan.train_tasks, past, recipe.seed, step, count)


def _draw_adaptive(plan: Plan, journal: Journal, past: Sequence[draw.Score], step: int) -> list[Task]:
    """Draw by tiers and shares, and tell which task was chosen by which share and how likely that was."""
    from appliance.sampler import choices, roster, state
    from appliance.sampler import draw as sampler

    grpo, tasks = plan.recipe.grpo, {task.key: task for task in plan.train_tasks}
    known = roster.make_roster((task.key, task.family, task.tier) for task in plan.train_tasks)
    scores = [choices.Score(one.task_key, one.step, one.passes, one.attempts) for one in past]
    wish = sampler.Wish(plan.recipe.seed, step, grpo.tasks_per_update, grpo.attempts_per_task)
    drawn = sampler.draw(known, state.rebuilt(known, scores), wish)
    journal.event("tasks.drawn", step=step, choices=[asdict(choice) for choice in drawn])
    return [tasks[choice.task_key] for choice in drawn]


def _samples(
    journal: Journal, rows: Mapping[str, Sequence[Mapping[str, Any]]], outcomes: Mapping[str, GroupOutcome]
) -> list[Sample]:
    """The learner's view of every attempt in a group that teaches."""
    found = []
    for group, outcome in outcomes.items():
        pairs = zip(rows[group], outcome.advantages, strict=True) if outcome.teaches else ()
        found += [_sample(journal, row["id"], share) for row, share in pairs if share is not None]
    return found


def _sample(journal: Journal, attempt_id: str, advantage: float) -> Sample:
    prompt, sampled = journal.store.attempt(attempt_id).segments
    return Sample(
        attempt_id,
        prompt.ids,
        sampled.ids,
        sampled.logprobs,
        advantage,
        policy_version=sampled.policy_version,
    )


def _check_parity(crew: Crew, journal: Journal, step: int, samples: Sequence[Sample]) -> None:
    """Score sampled tokens with the learner too, and refuse to train on two policies that differ."""
    scored = crew.learner.score(samples)
    gaps = [
        abs(a - b)
        for ours, sample in zip(scored, samples, strict=True)
        for a, b in zip(ours, sample.logprobs, strict=True)
    ]
    mean, worst = statistics.fmean(gaps), max(gaps)
    journal.event(
        "parity.measured", step=step, tokens=len(gaps), mean=mean, max=worst, limit=PARITY_MEAN_LIMIT
    )
    if mean > PARITY_MEAN_LIMIT:
        raise IntegrityError(
            f"engine and learner disagree: mean |difference of log-probability| {mean:.4f} per token",
            remedy="delete the prepared base in the cache and run again; if it stays, the model is not supported",
        )


def _publish(plan: Plan, crew: Crew, step: int) -> float:
    """Hand the new weights to the engine. Returns the seconds it took."""
    return crew.publish(plan.folder / "adapters" / f"u{step:04d}.gguf", plan.version(step), None)


def _checkpoint(plan: Plan, crew: Crew, journal: Journal, step: int) -> None:
    """After the update is on record: a death in between does the update anew from its recorded attempts."""
    version = plan.version(step)
    place = checkpoints.save(plan.folder, step, version, crew.learner)
    journal.event("checkpoint.saved", step=step, path=str(place), policy_version=version)


# shared by both


def _batch(plan: Plan, step: int, trained: int, purpose: Purpose, temperature: float, attempts: int) -> Batch:
    """`trained` is how many updates the policy that samples has had."""
    recipe = plan.recipe
    sampling = Sampling(temperature, recipe.sampling.max_tokens, agent.stops_of(recipe.sampling.harness))
    version = plan.version(trained)
    harness = recipe.sampling.harness
    return Batch(plan.run_id, recipe.seed, step, purpose, version, harness, sampling, attempts)


def _roll(
    plan: Plan, crew: Crew, journal: Journal, batch: Batch, tasks: Sequence[Task]
) -> tuple[dict[str, list[dict[str, Any]]], Rolled]:
    """Make and judge a batch; return its rows by group, in order of index."""
    orders = place_orders(batch, tasks)
    common = {"run_id": plan.run_id, "step": batch.step, "purpose": batch.purpose}
    version = {"policy_version": batch.policy_version}
    groups = [common | version | {"id": batch.group_id(task), "task_key": task.key} for task in tasks]
    journal.store.add_groups(groups)
    _stage(journal, plan, crew, batch.step, "sample")
    rolled = crew.roll(orders)
    # The queue of the reviewers grows with the verdicts, so that the screens show it while the run goes.
    docket.fill(journal.store, journal.clock())
    outcomes = journal.store.outcomes(plan.run_id, batch.step, batch.purpose)
    rows: dict[str, list[dict[str, Any]]] = {batch.group_id(task): [] for task in tasks}
    for order in orders:
        rows[order.group_id].append(outcomes[order.attempt_id])
    return rows, rolled


def _stage(journal: Journal, plan: Plan, crew: Crew, step: int, stage: str) -> None:
    crew.check_stop()
    journal.event("stage", step=step, stage=stage)
    journal.live(stage=stage, step=step, updates=plan.recipe.grpo.updates)


def _summary(
    rows: Mapping[str, Sequence[Mapping[str, Any]]], outcomes: Mapping[str, GroupOutcome]
) -> dict[str, Any]:
    """Counts and means over the attempts of an update; masked attempts leave the means."""
    members = [row for group in rows.values() for row in group]
    rewards = [row["reward"] for row in members if row["reward"] is not None]
    states = [outcome.state for outcome in outcomes.values()]
    return {
        "reward_mean": statistics.fmean(rewards) if rewards else None,
        "pass_rate": sum(row["status"] == "pass" for row in members) / len(rewards) if rewards else None,
        "groups": len(outcomes),
        "dead_fail": states.count("all_fail"),
        "dead_pass": states.count("all_pass"),
        "attempts": len(members),
        "masked": len(members) - len(rewards),
        "sampled_tokens": sum(row["sampled_tokens"] for row in members),
        "truncated": sum(row["stop_reason"] == "max_tokens" for row in members),
    }
