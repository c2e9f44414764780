"""M2, M3, M15: a group does much better, or much worse, than what was known of its task allows.

The number of passes in a group has the beta-binomial distribution of the posterior before it (Gelman et al., Bayesian
Data Analysis, 3rd edition, section 2.3). Several tasks are tested in one update, so their p-values are compared with
bounds that keep the share of false alarms (Benjamini and Hochberg, 1995).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from appliance.alarms.finding import Finding
from appliance.alarms.series import Step, Tried, posteriors

SPIKE, FAMILY_SPIKE, FALSE_SHARE = 1e-4, 1e-5, 0.01
LEAST = 8
"""Attempts at a task before anything is expected of it."""
MASTERED, SLIPPED, SURE = 0.9, 0.7, 0.95


def tail(passes: int, attempts: int, a: float, b: float) -> float:
    """P(S >= passes) of the beta-binomial with `attempts` tries, from 0 to 1."""
    terms = (
        _choose(attempts, hits) + _beta(a + hits, b + attempts - hits) - _beta(a, b)
        for hits in range(passes, attempts + 1)
    )
    return min(1.0, math.fsum(map(math.exp, terms)))


def _choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def rejected(values: Sequence[float], share: float) -> set[int]:
    """Places of the p-values that Benjamini and Hochberg reject with this share of false ones."""
    ranked = sorted(range(len(values)), key=lambda place: values[place])
    last = max(
        (rank for rank, place in enumerate(ranked, 1) if values[place] <= share * rank / len(values)),
        default=0,
    )
    return set(ranked[:last])


def spikes(steps: Sequence[Step]) -> Iterator[Finding]:
    """Of the newest update: tasks, and families, that passed far more often than was to be expected."""
    known, newest = posteriors(steps[:-1]), steps[-1]
    rated = [one for one in newest.tried if one.attempts and sum(known.get(one.task, (0, 0))) - 2 >= LEAST]
    values = [tail(one.passes, one.attempts, *known[one.task]) for one in rated]
    alone = {place for place in rejected(values, FALSE_SHARE) if values[place] < SPIKE}
    for place in sorted(alone):
        yield _spike("M2", rated[place].task, [rated[place]], values[place])
    families: dict[str, list[Tried]] = defaultdict(list)
    for place, one in enumerate(rated):
        if place not in alone:
            families[one.family].append(one)
    for family, members in families.items():
        if len(members) > 1:
            a, b = (sum(known[one.task][side] for one in members) for side in (0, 1))
            value = tail(sum(one.passes for one in members), sum(one.attempts for one in members), a, b)
            if value < FAMILY_SPIKE:
                yield _spike("M3", family, members, value)


def _spike(signal: str, subject: str, members: Sequence[Tried], value: float) -> Finding:
    passes, attempts = sum(one.passes for one in members), sum(one.attempts for one in members)
    return Finding(
        signal,
        "critical",
        subject,
        f"{passes} of {attempts} attempts pass, which what was known of it makes next to impossible",
        {"p": value, "passes": passes, "attempts": attempts},
        tuple(one.group for one in members),
        "quarantine",
    )


def slipped(steps: Sequence[Step]) -> Iterator[Finding]:
    """M15: tasks that nearly always passed, and hardly can any more."""
    from appliance.sampler.beta import mass_below  # numpy, which a command that only reads has no use for

    before, after = posteriors(steps[:-1]), posteriors(steps)
    for one in steps[-1].tried:
        a, b = before.get(one.task, (1.0, 1.0))
        if a + b - 2 < 2 * LEAST or a / (a + b) < MASTERED:
            continue
        now = after[one.task]
        sure = mass_below(SLIPPED, *now)
        if sure > SURE:
            snapshot = {
                "before": round(a / (a + b), 3),
                "passes": one.passes,
                "attempts": one.attempts,
                "sure": round(sure, 4),
            }
            yield Finding(
                "M15", "warn", one.task, "it was mastered and is not any more", snapshot, (one.group,), "look"
            )
