"""Pass rates of an evaluation, and how sure a change of them is. Pure arithmetic: numbers in, numbers out.

pass@1 of a task is its share of passed attempts; of a set of tasks, the mean of those, so that every task weighs
the same. The interval is a paired bootstrap: tasks are redrawn with replacement, before and after together, and
the percentiles of the mean change are read off. It covers the luck of which tasks were drawn, not of seeds.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DRAWS = 10_000
NORMAL_95 = 1.959964
"""Half width of a two-sided 95 % interval of the standard normal distribution."""


@dataclass(frozen=True, slots=True)
class Change:
    """A paired change of pass@1 over a set of tasks; shares, not percent."""

    tasks: int
    before: float
    after: float
    low: float
    """Lower end of the interval of `after - before`."""
    high: float

    @property
    def change(self) -> float:
        return self.after - self.before


def pass_rates(by_task: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """pass@1 per task of an evaluation; tasks without a judged attempt are left out."""
    return {key: tally["c"] / tally["n"] for key, tally in by_task.items() if tally["n"]}


def paired_change(before: Mapping[str, float], after: Mapping[str, float], *, seed: int) -> Change | None:
    """The change over the tasks both sides know, None when there are none."""
    keys = sorted(before.keys() & after.keys())
    if not keys:
        return None
    low, high = paired_bootstrap([after[key] - before[key] for key in keys], seed=seed)
    return Change(
        len(keys), _mean([before[key] for key in keys]), _mean([after[key] for key in keys]), low, high
    )


def paired_bootstrap(
    differences: Sequence[float], *, seed: int, draws: int = DRAWS, level: float = 0.95
) -> tuple[float, float]:
    """Percentile interval of the mean of paired differences, one per task."""
    draw, count = random.Random(seed), len(differences)
    means = sorted(math.fsum(draw.choices(differences, k=count)) / count for _ in range(draws))
    tail = (1 - level) / 2
    return quantile(means, tail), quantile(means, 1 - tail)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of a sorted sequence lies, linear between neighbours."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def wilson(hits: int, trials: int) -> tuple[float, float] | None:
    """The 95 % Wilson score interval of a share; None without a trial."""
    if not trials:
        return None
    share, square = hits / trials, NORMAL_95**2
    middle = share + square / (2 * trials)
    half = NORMAL_95 * math.sqrt(share * (1 - share) / trials + square / (4 * trials**2))
    whole = 1 + square / trials
    return max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole)


def trials_to_find(share: float, certainty: float = 0.95) -> int:
    """How many draws it takes to meet, at least once and with `certainty`, what `share` (0 to 1) of them are."""
    return math.ceil(math.log(1 - certainty) / math.log(1 - share))


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa of two raters' words; None where chance alone already agrees, or there is no pair."""
    if not pairs:
        return None
    agreed = sum(first == second for first, second in pairs) / len(pairs)
    ours, theirs = (Counter(words) for words in zip(*pairs, strict=True))
    chance = sum(ours[word] * theirs[word] for word in ours) / len(pairs) ** 2
    return None if chance == 1 else (agreed - chance) / (1 - chance)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def pass_at(n: int, c: int, k: int) -> float | None:
    """pass@k: the odds that at least one of k attempts passes, from c passes in n; None when n < k.

    1 - C(n - c, k) / C(n, k), the unbiased estimator of arXiv 2107.03374.
    """
    return None if n < k else 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_all(n: int, c: int, k: int) -> float | None:
    """pass^k: the odds that all of k attempts pass, from c passes in n; None when n < k. C(c, k) / C(n, k)."""
    return None if n < k else math.comb(c, k) / math.comb(n, k)


def sign_test(better: int, worse: int) -> float:
    """The two-sided exact p of as uneven a split of better and worse pairs, ties left out; 1.0 without a pair."""
    trials = better + worse
    tail: float = sum(math.comb(trials, i) for i in range(min(better, worse) + 1)) / 2**trials
    return min(1.0, 2 * tail)
