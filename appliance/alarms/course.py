"""M5, M8, M9, M16, M17: where a run is heading."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from appliance.alarms.finding import Finding, Level
from appliance.alarms.series import Step, posteriors

PARTED, FAR = 0.15, 0.30
RANKED = 6
"""Evaluations from which ranks are compared."""
TAIL_SHARE, TAIL_LEAST = 0.35, 12
SMALL_TREND, LONG_AGO = 0.1, 0.30
WASTE: tuple[tuple[float, Level], ...] = ((0.75, "critical"), (0.50, "warn"), (0.30, "info"))
RECENT = 5
WINDOW = 20
DRIFTED, BANDS = 0.2, (0.05, 0.25, 0.75, 0.95)
COUPLED, HALF = 0.8, 0.5

Scores = Sequence[tuple[int, float]]
"""(update, held-out pass rate), the oldest first."""


def parted(steps: Sequence[Step], scores: Scores) -> Iterator[Finding]:
    """M5: reward rises and the held-out score does not follow."""
    pairs = _paired(steps, scores)
    if len(pairs) < 3:
        return
    rewards, held = (_scaled([pair[side] for pair in pairs]) for side in (0, 1))
    gap, (r0, e0), (r1, e1) = rewards[-1] - held[-1], pairs[-3], pairs[-1]
    opposite = r1 > r0 and e1 < e0
    if gap > PARTED or opposite:
        snapshot = {
            "gap": round(gap, 3),
            "reward": [round(r0, 3), round(r1, 3)],
            "held_out": [round(e0, 3), round(e1, 3)],
        }
        if len(pairs) >= RANKED:
            snapshot["spearman"] = round(spearman(rewards, held), 3)
        severe = gap > FAR and opposite
        yield Finding(
            "M5",
            "critical" if severe else "warn",
            "run",
            "reward and the held-out score part",
            snapshot,
            (),
            "pause" if severe else "look",
        )


def _paired(steps: Sequence[Step], scores: Scores) -> list[tuple[float, float]]:
    """Mean reward of the updates up to each evaluation since the one before, and its score."""
    found, last = [], 0
    for at, score in scores:
        rewards = [step.reward for step in steps if last < step.step <= at and step.reward is not None]
        if rewards:
            found.append((statistics.fmean(rewards), score))
        last = at
    return found


def _scaled(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """The correlation of ranks, from -1 to 1; 0 where one side does not vary."""
    return _correlation(_ranks(one), _ranks(other))


def _ranks(values: Sequence[float]) -> list[float]:
    return [
        sum(other < value for other in values) + sum(other == value for other in values) / 2
        for value in values
    ]


def _correlation(one: Sequence[float], other: Sequence[float]) -> float:
    if len(set(one)) < 2 or len(set(other)) < 2:
        return 0.0
    return statistics.correlation(one, other)


def plateau(scores: Scores) -> Iterator[Finding]:
    """M8: the held-out score stopped to rise (Mann, 1945; Kendall, 1975)."""
    values = [score for _, score in scores]
    count = max(TAIL_LEAST, round(TAIL_SHARE * len(values)))
    if len(values) < count:
        return
    part = values[-count:]
    p, spread = mann_kendall(part), statistics.median(abs(value - statistics.median(part)) for value in part)
    drift = abs(part[-1] - part[0])
    best = max(range(len(values)), key=values.__getitem__)
    if p > SMALL_TREND and drift < max(spread, 1e-9) and len(values) - 1 - best >= LONG_AGO * len(values):
        snapshot = {
            "p": round(p, 3),
            "drift": round(drift, 4),
            "spread": round(spread, 4),
            "best": scores[best],
        }
        yield Finding("M8", "info", "run", "the held-out score has not risen for long", snapshot, (), "tiers")


def mann_kendall(values: Sequence[float]) -> float:
    """The two-sided p-value for no trend, by the normal approximation with the correction for continuity."""
    n = len(values)
    total = sum(
        (later > earlier) - (later < earlier)
        for place, earlier in enumerate(values)
        for later in values[place + 1 :]
    )
    ties = sum(t * (t - 1) * (2 * t + 5) for t in Counter(values).values())
    variance = (n * (n - 1) * (2 * n + 5) - ties) / 18
    if variance <= 0 or total == 0:
        return 1.0
    return math.erfc((abs(total) - 1) / math.sqrt(2 * variance))


def waste(steps: Sequence[Step]) -> Iterator[Finding]:
    """M9: groups whose attempts all got the same reward cost time and teach nothing."""
    if len(steps) < RECENT:
        return
    dead = statistics.fmean(step.dead for step in steps[-RECENT:])
    level = next((level for bound, level in WASTE if dead >= bound), None)
    if level:
        factor = round(1 / (1 - dead), 2) if dead < 1 else None
        snapshot = {"dead": round(dead, 3), "cost_factor": factor, "updates": RECENT}
        yield Finding("M9", level, "run", f"{dead:.0%} of the groups teach nothing", snapshot, (), "tiers")


def drifted(steps: Sequence[Step]) -> Iterator[Finding]:
    """M16: the difficulty of what is tried is another one than half of the run ago (population stability index)."""
    if len(steps) < 4 * WINDOW:
        return
    middle = len(steps) // 2
    value = stability(_bands(steps[:middle]), _bands(steps))
    if value > DRIFTED:
        yield Finding(
            "M16",
            "info",
            "run",
            "the difficulty of the tasks has drifted",
            {"psi": round(value, 3)},
            (),
            "tiers",
        )


def _bands(steps: Sequence[Step]) -> list[int]:
    """How many tasks have a posterior mean in each band."""
    found = [0] * (len(BANDS) + 1)
    for a, b in posteriors(steps).values():
        found[sum(a / (a + b) >= bound for bound in BANDS)] += 1
    return found


def stability(before: Sequence[int], after: Sequence[int]) -> float:
    """The population stability index of two histograms; every band counts half a task more than it has."""
    shares = [[(count + 0.5) / (sum(part) + 0.5 * len(part)) for count in part] for part in (before, after)]
    return math.fsum((new - old) * math.log(new / old) for old, new in zip(*shares, strict=True))


def coupled(steps: Sequence[Step]) -> Iterator[Finding]:
    """M17, advisory: reward begins to follow the length of answers, or entropy has halved."""
    if len(steps) >= 2 * WINDOW:
        before, now = (
            _correlation([step.length for step in part], [step.reward or 0.0 for step in part])
            for part in (steps[-2 * WINDOW : -WINDOW], steps[-WINDOW:])
        )
        if abs(now - before) > COUPLED and abs(now) > HALF:
            snapshot = {"before": round(before, 2), "now": round(now, 2)}
            yield Finding("M17", "info", "run length", "reward follows the length of answers", snapshot)
    entropies = [step.entropy for step in steps if step.entropy is not None]
    if len(entropies) >= WINDOW and entropies[0] > 0:
        now = statistics.fmean(entropies[-RECENT:])
        if now < HALF * statistics.fmean(entropies[:RECENT]):
            yield Finding("M17", "info", "run entropy", "entropy has halved", {"entropy": round(now, 3)})
