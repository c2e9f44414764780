"""The training cycle: evaluate, then updates (sample, judge, learn, publish), then evaluate again.

It decides what happens in which order and nothing else: attempts are made by a `Crew`, tokens come from an
engine and updates from a learner that it knows only by their verbs.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from appliance import checkpoints
from appliance.advantage import GroupOutcome
from appliance.alarms import watch
from appliance.errors import IntegrityError
from appliance.exploration import Explorer, batch_of, roll, tell_stage
from appliance.journal import Journal
from appliance.nouns import Card, Sample
from appliance.plan import Crew, Plan

PARITY_SAMPLES = 16
PARITY_MEAN_LIMIT = 0.03
"""Mean |difference of log-probability| per token between engine and learner above which training is refused.

An F32 rollout file against a learner with an fp32 body and a bf16 head differs by about 0.013 (fp32 head:
0.001); a wrong adapter, scale or position differs by tenths.
"""


def train(plan: Plan, crew: Crew, journal: Journal, clock: Callable[[], float], first: int = 1) -> int:
    """Carry out the plan from update `first` on; return the updates done. Raises Stopped when asked to."""
    settings, started = plan.recipe.grpo, clock()
    explorer = Explorer(plan, crew, journal)
    if first == 1:
        _evaluate_once(plan, crew, journal, 0)
    done = first - 1
    for step in range(first, settings.updates + 1):
        _update(plan, crew, journal, explorer, step, check_parity=step == first)
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
    batch = batch_of(plan, step, step, "eval")
    rows, _ = roll(plan, crew, journal, batch, plan.eval_tasks)
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


def _tally(task: Card, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """n attempts that have a reward, c of them passed; a masked attempt counts in neither."""
    known = [row for row in rows if row["reward"] is not None]
    return {
        "n": len(known),
        "c": sum(row["status"] == "pass" for row in known),
        "tier": task.tier,
        "task_hash": task.task_hash,
    }


# one update


def _update(
    plan: Plan, crew: Crew, journal: Journal, explorer: Explorer, step: int, *, check_parity: bool
) -> None:
    settings, started = plan.recipe.grpo, journal.clock()
    found = explorer.explore(step)
    rows, outcomes, rolled = found.rows, found.outcomes, found.rolled
    samples = _samples(journal, rows, outcomes)
    if check_parity and samples:
        _check_parity(crew, journal, step, samples[:: max(1, len(samples) // PARITY_SAMPLES)])
    tell_stage(journal, plan, crew, step, "learn")
    planned = settings.tasks_per_update * settings.attempts_per_task * plan.recipe.sampling.max_tokens
    learned = asdict(crew.learner.step(samples, planned)) if samples else {}
    tell_stage(journal, plan, crew, step, "publish")
    swap_s = _publish(plan, crew, step)
    learn_s = learned.pop("seconds", 0.0)
    times = {"sample_s": rolled.sample_s, "judge_s": rolled.judge_s, "learn_s": learn_s, "swap_s": swap_s}
    version = {"policy_version": plan.version(step)}
    metrics = _summary(rows, outcomes) | times | learned | version
    journal.update(step, started, metrics)
    watch.after_update(plan, journal, step, started, metrics)
    _checkpoint(plan, crew, journal, step)


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
