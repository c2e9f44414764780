"""M4, M6, M7, M10: control charts over the series of a run. Learning is drift, so none of them looks at raw reward."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

from appliance.alarms.finding import Finding
from appliance.alarms.series import Step, posteriors

WARM_UP = 20
"""Updates that the usual level and spread are taken from."""
SLACK, LIMIT = 0.5, 5.0
"""Of the one-sided CUSUM, in standard deviations: about 930 updates between false alarms (Page, 1954)."""
LEAST_SPREAD = 0.01
DELTA, LAMBDA, LEAST_SAMPLES = 0.005, 0.5, 30
"""Of Page and Hinkley's test on rates."""
HAZARD, NEAR, LIKELY = 1 / 200, 5, 0.5
LOOKED_BACK, NEGLIGIBLE = 200, 1e-4
"""Updates of a change point's search, and the share of a stretch that is not followed any further."""
ESTIMATED = 1.1
"""A spread taken from 20 values may be too small by chance, and the limits with it."""
RARE = 1e-4
LOW_RATE, CHI_SQUARE = 0.25, 6.635
"""6.635: the 1 % point of chi-square with one degree of freedom."""


def cusum(values: Sequence[float]) -> float:
    """How far the newest sum is above its limit, in limits; the first `WARM_UP` values are the reference."""
    if len(values) <= WARM_UP:
        return 0.0
    level = statistics.fmean(values[:WARM_UP])
    spread = max(ESTIMATED * statistics.stdev(values[:WARM_UP]), LEAST_SPREAD)
    total = 0.0
    for value in values[WARM_UP:]:
        total = max(0.0, total + value - level - SLACK * spread)
    return total / (LIMIT * spread)


def hidden_gap(steps: Sequence[Step]) -> Iterator[Finding]:
    """M4: visible cases are passed more and more often where hidden ones are not."""
    gaps = [step.gap for step in steps if step.gap is not None]
    over = cusum(gaps)
    if over > 1:
        snapshot = {
            "gap": round(gaps[-1], 4),
            "usual": round(statistics.fmean(gaps[:WARM_UP]), 4),
            "cusum": round(over, 2),
        }
        yield Finding(
            "M4",
            "critical",
            "run",
            "the gap between visible and hidden cases has grown",
            snapshot,
            (),
            "audit",
        )


def page_hinkley(values: Sequence[float]) -> float:
    """m - min m of the test for a rise, with slack `DELTA`; 0 below `LEAST_SAMPLES` values (Page, 1954)."""
    if len(values) < LEAST_SAMPLES:
        return 0.0
    mean, total, least = 0.0, 0.0, 0.0
    for count, value in enumerate(values, 1):
        mean += (value - mean) / count
        total += value - mean - DELTA
        least = min(least, total)
    return total - least


def residuals(values: Sequence[float]) -> list[float]:
    """What each value is off the line through the `WARM_UP` values before it: 0 for the first ones."""
    found = [0.0] * min(WARM_UP, len(values))
    for end in range(WARM_UP, len(values)):
        past = values[end - WARM_UP : end]
        slope, intercept = statistics.linear_regression(range(WARM_UP), past)
        found.append(values[end] - (slope * WARM_UP + intercept))
    return found


def abrupt(steps: Sequence[Step]) -> Iterator[Finding]:
    """M6: the gap, the rate of tampering, the rate of host faults or the reward jumps."""
    rewards = [step.reward for step in steps if step.reward is not None]
    series = {
        "gap": [step.gap for step in steps if step.gap is not None],
        "tamper": [step.tamper / max(1, step.attempts) for step in steps],
        "infra": [step.infra / max(1, step.attempts) for step in steps],
    }
    for name, values in series.items():
        height = page_hinkley(values)
        if height > LAMBDA:
            yield Finding(
                "M6", "warn", f"run {name}", f"{name} rose abruptly", {"height": round(height, 3)}, (), "look"
            )
    # Errors of a forecast from 20 values spread more than the values: they are measured by their own spread.
    off = residuals(rewards)[WARM_UP:]
    if len(off) > WARM_UP:
        over = max(cusum(off), cusum([-value for value in off]))
        if over > 1:
            yield Finding(
                "M6", "warn", "run reward", "reward left its trend", {"cusum": round(over, 2)}, (), "look"
            )


def change_odds(counts: Sequence[tuple[int, int]]) -> list[float]:
    """After each (hits, tries): the odds that the rate changed within the last `NEAR` updates.

    Bayesian online change point detection with a Beta(1, 1) prior of each stretch's rate (Adams and MacKay, 2007).
    """
    runs: list[tuple[float, float, float, int]] = [(1.0, 1.0, 1.0, 0)]
    found = []
    for hits, tries in counts[-LOOKED_BACK:]:
        likely = [weight * _marginal(hits, tries, a, b) for weight, a, b, _ in runs]
        fresh = HAZARD * _marginal(hits, tries, 1.0, 1.0)
        runs = [
            (fresh, 1.0 + hits, 1.0 + tries - hits, 0),
            *(
                ((1 - HAZARD) * p, a + hits, b + tries - hits, age + 1)
                for p, (_, a, b, age) in zip(likely, runs, strict=True)
            ),
        ]
        total = math.fsum(weight for weight, *_ in runs)
        runs = [(weight / total, a, b, age) for weight, a, b, age in runs if weight > NEGLIGIBLE * total]
        found.append(math.fsum(weight for weight, _, _, age in runs if age < NEAR))
    return found


def _marginal(hits: int, tries: int, a: float, b: float) -> float:
    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    return math.exp(log_beta(a + hits, b + tries - hits) - log_beta(a, b))


def change_points(steps: Sequence[Step]) -> Iterator[Finding]:
    """M7: the rate of tampering or of host faults is another one since a few updates."""
    if len(steps) < 2 * NEAR:
        return
    for name in ("tamper", "infra"):
        counts = [(getattr(step, name), step.attempts) for step in steps]
        odds = change_odds(counts)
        if min(odds[-2:]) > LIKELY:
            snapshot = {"odds": round(odds[-1], 3), "now": counts[-1], "before": counts[-NEAR - 1]}
            yield Finding("M7", "warn", f"run {name}", f"the rate of {name} changed", snapshot, (), "look")


def laundering(steps: Sequence[Step]) -> Iterator[Finding]:
    """M10: faults that mask an attempt, or its own limits, come more often, or where success is unlikely."""
    for name in ("infra", "resource"):
        past, now = steps[:-1], steps[-1]
        tries = sum(step.attempts for step in past)
        if len(past) >= WARM_UP and tries and now.attempts:
            usual = (sum(getattr(step, name) for step in past) + 0.5) / (tries + 1)
            p = at_least(getattr(now, name), now.attempts, usual)
            if p < RARE:
                snapshot = {"now": getattr(now, name), "of": now.attempts, "usual": round(usual, 4), "p": p}
                text = f"{name} comes more often than it did"
                yield Finding("M10", "warn", f"run {name}", text, snapshot, (), "look")
    value, table = _masked_where_hard(steps)
    if value > CHI_SQUARE:
        text = "attempts are masked more often where success is unlikely"
        yield Finding(
            "M10", "critical", "run masked", text, {"chi_square": round(value, 2), "table": table}, (), "look"
        )


def at_least(hits: int, tries: int, rate: float) -> float:
    """P(S >= hits) of the binomial: counts of rare faults are too small for limits of three standard deviations."""
    return min(
        1.0,
        math.fsum(math.comb(tries, k) * rate**k * (1 - rate) ** (tries - k) for k in range(hits, tries + 1)),
    )


def _masked_where_hard(steps: Sequence[Step]) -> tuple[float, list[list[int]]]:
    """Chi-square of masked against predicted success, 0 unless the hard ones are masked more; and the 2x2 table."""
    rates = {task: a / (a + b) for task, (a, b) in posteriors(steps).items()}
    table = [[0, 0], [0, 0]]
    for step in steps:
        for one in step.tried:
            row = table[rates[one.task] >= LOW_RATE]
            row[0], row[1] = row[0] + one.masked, row[1] + one.attempts
    (a, b), (c, d) = table
    total, odd = a + b + c + d, a * d - b * c
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    return (total * odd * odd / margins if margins and odd > 0 else 0.0), table
