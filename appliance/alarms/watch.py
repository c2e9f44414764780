"""After each update: the series grows, every signal looks at it, and what it finds is kept and acted on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from appliance.alarms import control, course, spikes, tripwires
from appliance.alarms.finding import Finding
from appliance.alarms.series import Step, step_of
from appliance.errors import ApplianceError
from appliance.journal import Journal
from appliance.plan import Plan
from appliance.pool import states
from appliance.pool.library import Library
from appliance.store import Store

MOST_CAUSES = 20
"""Attempts or groups that an alarm names."""
NAME = "alarms"
"""Who quarantines, in the records of tasks."""


def after_update(
    plan: Plan, journal: Journal, step: int, started: float, metrics: Mapping[str, Any]
) -> list[int]:
    """Look at an update that is on record; `started` in Unix seconds. Returns the ids of the alarms that are new."""
    store, run_id = journal.store, plan.run_id
    rows = store.judged_rows(run_id, step)
    told = {key: (card.family, card.tier) for key, card in plan.library.cards.items()}
    shares = {
        choice["task_key"]: choice["share"]
        for data in store.event_data(run_id, "tasks.drawn", started)
        if data["step"] == step
        for choice in data["choices"]
    }
    train = [row for row in rows if row["purpose"] == "train"]
    store.set_step(run_id, step, step_of(step, train, told, shares, metrics).to_json())
    found = findings(store, run_id, rows, frozenset(task.key for task in plan.canaries), started)
    return keep(journal, step, found, plan.library)


def findings(
    store: Store, run_id: str, rows: Sequence[Mapping[str, Any]], canaries: frozenset[str], since: float
) -> Iterator[Finding]:
    """What every signal says of the newest update: tripwires first."""
    steps = [Step.from_json(data) for data in store.steps(run_id)]
    contents = {row["task_key"]: (row["task_hash"], row["verifier_hash"]) for row in rows}
    yield from tripwires.tripped(rows, canaries)
    yield from tripwires.gold_failed(store.event_data(run_id, "task.broken", since))
    yield from tripwires.flaky(store.flaky_cases(contents, tripwires.FLAKY))
    yield from tripwires.suspected(store.review_items(run_id, [row["id"] for row in rows]))
    yield from tripwires.unhealthy(steps, store.event_data(run_id, "stall", since))
    for look in (
        spikes.spikes,
        spikes.slipped,
        control.hidden_gap,
        control.abrupt,
        control.change_points,
        control.laundering,
        course.waste,
        course.drifted,
        course.coupled,
    ):
        yield from look(steps)
    scores = [
        (row["step"], row["pass_rate"]) for row in store.evaluations(run_id) if row["pass_rate"] is not None
    ]
    yield from course.parted(steps, scores)
    yield from course.plateau(scores)


def keep(journal: Journal, step: int, found: Iterator[Finding], library: Library) -> list[int]:
    """Raise what is new, and count what is open or silenced already. Returns the ids of the new ones."""
    store, now = journal.store, journal.clock()
    known = {
        (row["signal"], row["subject"]): row
        for row in store.alarms(journal.run_id)
        if row["state"] != "closed"
    }
    new = []
    for one in found:
        row = known.get((one.signal, one.subject))
        if row and not _is_over(row, now):
            louder = row["level"] != "critical" and one.level == "critical"
            level = one.level if louder else row["level"]
            store.set_alarm(row["id"], count=row["count"] + 1, last=now, step=step, level=level)
            continue
        if row:
            store.set_alarm(row["id"], state="closed")
        identity = store.add_alarm(_record(journal.run_id, step, one, now))
        journal.event(
            "alarm.raised",
            alarm=identity,
            signal=one.signal,
            level=one.level,
            subject=one.subject,
            text=one.text,
        )
        known[one.signal, one.subject] = store.alarm(identity) or {}
        new.append(identity)
        if one.action == "quarantine":
            _quarantine(journal, identity, one, library, now)
    return new


def _is_over(row: Mapping[str, Any], now: float) -> bool:
    return row["state"] == "silenced" and row["until"] is not None and row["until"] <= now


def _record(run_id: str, step: int, one: Finding, now: float) -> dict[str, Any]:
    return {
        "created": now,
        "last": now,
        "count": 1,
        "run_id": run_id,
        "step": step,
        "signal": one.signal,
        "level": one.level,
        "subject": one.subject,
        "text": one.text,
        "snapshot": dict(one.snapshot),
        "cause": list(one.cause[:MOST_CAUSES]),
        "action": one.action,
        "done": 0,
        "state": "open",
        "until": None,
        "reason": "",
        "actor": None,
    }


def _quarantine(journal: Journal, identity: int, one: Finding, library: Library, now: float) -> None:
    """Take the task, or the tasks of the family, out of use. What the rules do not allow stays an open alarm."""
    done = 0
    for card in library.cards.values():
        if one.subject not in (card.key, card.family) or card.split != "train":
            continue
        reason = f"alarm {identity}: {one.text}"
        try:
            states.set_state(
                journal.store,
                library[card.key],
                "quarantined",
                actor=os.getuid(),
                name=NAME,
                reason=reason,
                now=now,
                alarm=str(identity),
            )
        except ApplianceError as error:
            journal.event("alarm.not_acted", alarm=identity, task=card.key, error=error.message)
        else:
            done += 1
    journal.store.set_alarm(identity, done=done)
