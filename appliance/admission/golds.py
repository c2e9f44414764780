"""The checks that judge what is known: the gold again and again, nothing at all, and stubs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from appliance import flakes
from appliance.admission import stubs
from appliance.admission.check import Check, CheckState
from appliance.admission.surroundings import Variables, several
from appliance.controls import controls_of, passing
from appliance.kinds import load_kind
from appliance.nouns import Task, Verdict
from appliance.orders import derive_seed
from appliance.statistics import quantile
from appliance.verdicts import EVIDENCE_CAP

Files = Mapping[str, bytes]
Judged = Callable[[Sequence[Files], Sequence[int]], list[Verdict]]
"""Judges submissions, each with its seed, several at the same time."""
JudgedIn = Callable[[Sequence[Files], Sequence[int], Sequence[Variables]], list[Verdict]]
"""The same, each in its own surroundings."""
RUNS, REPEATS = 5, 10
TIME_MARGIN, MEMORY_MARGIN = 4.0, 2.0
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class GoldRuns:
    """The gold judged again and again."""

    elsewhere: tuple[Verdict, ...]
    """`RUNS` times, with other seeds in other surroundings."""
    varied: tuple[str, ...]
    """Names of the variables that were different there."""
    equal: tuple[Verdict, ...]
    """`REPEATS` times with one seed."""
    different: tuple[Verdict, ...]
    """As often with others."""

    @property
    def repeats(self) -> tuple[Verdict, ...]:
        return (*self.equal, *self.different)


def run_gold(task: Task, judged: Judged, judged_in: JudgedIn) -> GoldRuns:
    """Judge the gold for V1, V10 and V11, several judgings at the same time."""
    gold = passing(task)
    seeds = [derive_seed("admission", task.task_hash, number) for number in range(REPEATS + RUNS)]
    places = several(task, RUNS)
    elsewhere = judged_in([gold] * RUNS, seeds[REPEATS:], places)
    found = judged([gold] * 2 * REPEATS, [seeds[0]] * REPEATS + seeds[:REPEATS])
    return GoldRuns(
        tuple(elsewhere), tuple(sorted(places[0])), tuple(found[:REPEATS]), tuple(found[REPEATS:])
    )


def passes(runs: GoldRuns) -> Check:
    """V1: the gold passes with other seeds, in other surroundings and while others are judged."""
    right = sum(verdict.reward == 1.0 for verdict in runs.elsewhere)
    measured = {
        "passed": right,
        "of": RUNS,
        "statuses": dict(Counter(verdict.status for verdict in runs.elsewhere)),
        "varied": ["seed", "load", *runs.varied],
    }
    wrong = next((verdict for verdict in runs.elsewhere if verdict.reward != 1.0), None)
    why = "" if wrong is None else f"the gold got {wrong.status} {wrong.reward}: {first_evidence(wrong)}"
    return decided("V1", "gold passes", right == RUNS, measured, why, "mend the gold or the hidden tests")


def stable(runs: GoldRuns) -> Check:
    """V10: no flip of a status or of a case.

    `flake_rate_below`: the greatest rate at which no flip in so many judgings still has a probability of 5 %.
    """
    flips = sum(
        len(part) - max(Counter((v.status, v.reward) for v in part).values())
        for part in (runs.equal, runs.different)
    )
    cases = [list(case) for case, _ in flakes.count(runs.repeats, EVIDENCE_CAP).flaky()][:20]
    measured = {
        "flips": flips,
        "repeats": f"{REPEATS} with one seed, {REPEATS} with others",
        "flaky_cases": cases,
        "flake_rate_below": round(1 - (1 - CONFIDENCE) ** (1 / REPEATS), 3),
    }
    reason = f"flaky: the gold flipped {flips} times in {2 * REPEATS}"
    return decided("V10", "stable", not flips and not cases, measured, reason, "remove what is random")


def within_budget(task: Task, runs: GoldRuns) -> Check:
    """V11: four times the gold's p95 of time and twice its memory are within the budgets, on this machine."""
    budgets, over = task.settings["budgets"], []
    measured: dict[str, object] = {}
    for name, budget, margin in (
        ("cpu_s", "cpu_s", TIME_MARGIN),
        ("wall_s", "wall_s", TIME_MARGIN),
        ("peak_mib", "memory_mb", MEMORY_MARGIN),
    ):
        used = sorted(verdict.cost[name] for verdict in runs.repeats if name in verdict.cost)
        if not used:
            continue
        # Times of a kind with a jail for each case are sums over the cases, each of which has the whole budget.
        most = quantile(used, 0.95) / (_jails(task) if margin == TIME_MARGIN else 1)
        measured[name] = {"p95": round(most, 4), "budget": budgets[budget]}
        if margin * most > budgets[budget]:
            over.append(f"{margin:g} x {name} {most:.3g} > {budgets[budget]:g}")
    return decided(
        "V11", "within budget", not over, measured, "; ".join(over), "raise [budgets] of pool.toml"
    )


def _jails(task: Task) -> int:
    return sum(load_kind(task.kind).totals(task)) if task.kind in ("stdio", "shell") else 1


def nothing_fails(task: Task, judged: Judged) -> Check:
    """V2: what was not worked on earns nothing, and not because the host failed."""
    known = {name: files for name, (files, wanted) in controls_of(task).items() if not wanted}
    return _all_fail("V2", "nothing earns nothing", known, judged, "give the tests something to ask")


def stubs_fail(task: Task, judged: Judged) -> Check:
    """V3: constants, echoes and programs that say nothing earn nothing."""
    known = stubs.of(task)
    if not known:
        return Check("V3", "stubs fail", "not_applicable")
    return _all_fail("V3", "stubs fail", known, judged, "add cases whose answers differ")


def _all_fail(identity: str, name: str, known: Mapping[str, Files], judged: Judged, remedy: str) -> Check:
    found = dict(zip(known, judged(list(known.values()), [0] * len(known)), strict=True))
    bad = [label for label, verdict in found.items() if verdict.reward != 0.0]
    measured = {"tried": len(found), "earned": {label: found[label].status for label in bad}}
    return decided(
        identity, name, not bad, measured, f"{', '.join(bad[:5])} got {_rewards(found, bad)}", remedy
    )


def _rewards(found: Mapping[str, Verdict], bad: Sequence[str]) -> str:
    return ", ".join(f"{found[label].status} {found[label].reward}" for label in bad[:5])


def first_evidence(verdict: Verdict) -> str:
    for item in verdict.evidence:
        words = (str(item.get(name, "")) for name in ("layer", "case", "outcome", "text"))
        return " ".join(word for word in words if word)[:200]
    return ""


def decided(
    identity: str, name: str, good: bool, measured: Mapping[str, object], reason: str, remedy: str
) -> Check:
    state: CheckState = "passed" if good else "failed"
    return Check(identity, name, state, measured, "" if good else reason, "" if good else remedy)
