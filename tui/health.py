"""One word on a run, with its reason: rules over a snapshot, the same ones the help screen prints.

The first rule that holds decides. Rates cover the last `RECENT` updates. The words describe what the numbers did;
they do not say that the judge is right: a broken judge makes reward look healthy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from appliance.clean import clean_line
from appliance.narrate import go_on, percent
from appliance.reads import number
from appliance.tui.source import Snapshot

DOWN_S = 60.0
STARVED_S = 30.0
RECENT = 4
TIMES = ("sample_s", "judge_s", "learn_s", "swap_s")
"""Metrics with the seconds of the stages sample, judge, learn, publish."""
MASKED_LIMIT = 0.05
DEAD_LIMIT = 0.75
TRUNCATED_LIMIT = 0.5
TREND_UPDATES = 10
FLAT_GAIN = 0.01

RULES: tuple[tuple[str, str], ...] = (
    ("finished", "the run ended by itself"),
    ("stopped", "the operator stopped it; it can be resumed"),
    ("failed", "the run ended with an error"),
    ("died", "its process ended without a word; it can be resumed"),
    ("queued", "it waits for the daemon to come to it"),
    ("paused", "the operator paused it"),
    ("down", f"running on record, but silent for {DOWN_S:.0f} s and 3 longest stages"),
    ("degraded", f"more than {percent(MASKED_LIMIT, 0)} of the attempts were lost to host faults"),
    ("starved", f"sampling, but no attempt ended for {STARVED_S:.0f} s and 2 usual times"),
    (
        "wasting",
        f"{percent(DEAD_LIMIT, 0)} or more groups without a spread, or {percent(TRUNCATED_LIMIT, 0)} cut off",
    ),
    ("flat", f"reward rose less than {FLAT_GAIN} between the halves of {TREND_UPDATES} updates"),
    ("learning", "none of these"),
)
"""Word and rule, in the order they are tried."""

GOOD, NOTICE, BAD = "good", "notice", "bad"
MOODS = {"learning": GOOD, "finished": GOOD, "failed": BAD, "died": BAD, "down": BAD, "degraded": BAD}


@dataclass(frozen=True, slots=True)
class Health:
    """A verdict on a run: one word of `RULES` and why."""

    word: str
    reason: str

    @property
    def mood(self) -> str:
        return MOODS.get(self.word, NOTICE)


def judge_health(snapshot: Snapshot, now: float) -> Health:
    """Return the first rule that holds at `now` (Unix seconds)."""
    if snapshot.run is None:
        return Health("empty", "no run in this store yet; start one with: appliance train RECIPE")
    if ended := _ended(snapshot):
        return ended
    rules: tuple[Callable[[Snapshot, float], Health | None], ...] = (
        _down,
        _degraded,
        _starved,
        _wasting,
        _flat,
    )
    return next((found for rule in rules if (found := rule(snapshot, now))), _learning(snapshot))


def _ended(snapshot: Snapshot) -> Health | None:
    assert snapshot.run is not None
    state, done = snapshot.run["state"], f"after {len(snapshot.updates)} updates"
    if state == "failed":
        data = snapshot.failure["data"] if snapshot.failure else {}
        return Health("failed", clean_line(str(data.get("error") or "no reason was recorded")))
    reasons = {
        "stopped": f"{done}; go on with: {go_on(snapshot.run)}",
        "died": f"{done}; go on with: {go_on(snapshot.run)}",
        "queued": f"{done}; the daemon comes to it when the runs before it have ended",
        "paused": f"{done}; go on with: appliance run resume {clean_line(snapshot.run['id'])}",
    }
    if state in reasons:
        return Health(state, reasons[state])
    return Health("finished", f"{done}{_gain(snapshot)}") if state == "finished" else None


def _gain(snapshot: Snapshot) -> str:
    rates = [rate for _, rate in snapshot.pass_rates if rate is not None]
    return f"; held out {percent(rates[0])} → {percent(rates[-1])}" if len(rates) > 1 else ""


def _down(snapshot: Snapshot, now: float) -> Health | None:
    silent, longest = (
        now - snapshot.sign_of_life,
        max(number(snapshot.last.get(name)) or 0.0 for name in TIMES),
    )
    if silent <= max(DOWN_S, 3 * longest):
        return None
    command = go_on(snapshot.run or {"id": "RUN"})
    return Health("down", f"recorded as running, but silent for {duration(silent)}; go on with: {command}")


def _degraded(snapshot: Snapshot, now: float) -> Health | None:
    masked, attempts = _recent(snapshot, "masked"), _recent(snapshot, "attempts")
    if not attempts or masked / attempts <= MASKED_LIMIT:
        return None
    return Health(
        "degraded", f"{masked:.0f} of {attempts:.0f} attempts lost to host faults; run `appliance doctor`"
    )


def _starved(snapshot: Snapshot, now: float) -> Health | None:
    stage = snapshot.stage
    if stage is None or snapshot.live.get("stage", stage["data"].get("stage")) != "sample":
        return None
    since = max(stage["time"], snapshot.attempt["created"] if snapshot.attempt else 0.0)
    usual = number(snapshot.last.get("sample_s")) or 0.0
    if now - since <= max(STARVED_S, 2 * usual):
        return None
    return Health(
        "starved", f"no attempt ended for {duration(now - since)}; see engine.log in the run folder"
    )


def _wasting(snapshot: Snapshot, now: float) -> Health | None:
    groups = _recent(snapshot, "groups")
    fail, full = _recent(snapshot, "dead_fail"), _recent(snapshot, "dead_pass")
    if groups and (fail + full) / groups >= DEAD_LIMIT:
        why = "too hard" if fail > full else "too easy"
        return Health("wasting", f"{fail + full:.0f} of {groups:.0f} groups taught nothing, mostly {why}")
    attempts, cut = _recent(snapshot, "attempts"), _recent(snapshot, "truncated")
    if attempts and cut / attempts >= TRUNCATED_LIMIT:
        return Health(
            "wasting", f"{percent(cut / attempts, 0)} of the attempts were cut off at sampling.max_tokens"
        )
    return None


def _flat(snapshot: Snapshot, now: float) -> Health | None:
    gain = trend([value for value in snapshot.metric("reward_mean") if value is not None])
    if gain is None or gain >= FLAT_GAIN:
        return None
    moved = "moved" if gain >= 0 else "fell"
    return Health("flat", f"reward {moved} by {abs(gain):.3f} over the last {TREND_UPDATES} updates")


def _learning(snapshot: Snapshot) -> Health:
    rewards = [value for value in snapshot.metric("reward_mean") if value is not None]
    gain = trend(rewards)
    if gain is not None:
        return Health("learning", f"reward rose by {gain:.3f} over the last {TREND_UPDATES} updates")
    if len(rewards) < 2:
        return Health(
            "learning", "no update yet" if not rewards else "one update so far; too early for a trend"
        )
    return Health("learning", f"reward {rewards[0]:.2f} → {rewards[-1]:.2f} so far; too early for a trend")


def trend(rewards: Sequence[float]) -> float | None:
    """Mean of the later half of the last updates minus that of the earlier; None while there are too few."""
    if len(rewards) < TREND_UPDATES:
        return None
    half = TREND_UPDATES // 2
    return math.fsum(rewards[-half:]) / half - math.fsum(rewards[-2 * half : -half]) / half


def _recent(snapshot: Snapshot, name: str) -> float:
    return math.fsum(value for value in snapshot.metric(name)[-RECENT:] if value is not None)


def duration(seconds: float) -> str:
    """A span in its two largest units: `42 s`, `3 min 5 s`, `2 h 10 min`, `4 d 1 h`."""
    whole = max(0, int(seconds))
    for size, name, small, below in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {name} {whole % size // small} {below}"
    return f"{whole} s"
