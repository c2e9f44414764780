"""Signals: how often they are raised when nothing is wrong, and how soon when something is."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence

import pytest

from appliance.alarms import control, course, spikes, tripwires
from appliance.alarms.finding import Finding
from appliance.alarms.series import Step, Tried, curves, posteriors, step_of

SERIES, LENGTH = 200, 60
"""In-control series that are simulated, and their updates."""


def step(number: int, *, attempts: int = 96, **changed: object) -> Step:
    base = {
        "step": number,
        "reward": 0.4,
        "visible": 0.6,
        "hidden": 0.5,
        "attempts": attempts,
        "tamper": 0,
        "infra": 0,
        "resource": 0,
        "dead": 0.2,
        "length": 20.0,
        "entropy": 1.0,
        "judge_s": 0.1,
        "tried": (),
    }
    return Step(**{**base, **changed})  # type: ignore[arg-type]


def quiet(chance: random.Random, length: int = LENGTH) -> list[Step]:
    """A run that learns, with noise: the reward rises, the gap and the faults do not."""
    found = []
    for number in range(1, length + 1):
        rate = 0.3 + 0.3 * number / length
        hidden = rate + chance.gauss(0, 0.05)
        found.append(
            step(
                number,
                reward=hidden,
                hidden=hidden,
                visible=hidden + 0.1 + chance.gauss(0, 0.02),
                tamper=sum(chance.random() < 0.01 for _ in range(96)),
                infra=sum(chance.random() < 0.005 for _ in range(96)),
                resource=sum(chance.random() < 0.03 for _ in range(96)),
                length=20 + chance.gauss(0, 2),
                dead=0.2 + chance.gauss(0, 0.05),
                judge_s=0.1 + 0.02 * chance.random(),
            )
        )
    return found


def first(
    look: Callable[[Sequence[Step]], Iterator[Finding]], steps: Sequence[Step], signal: str
) -> int | None:
    """The update after which a signal is raised first."""
    for end in range(1, len(steps) + 1):
        if any(one.signal == signal for one in look(steps[:end])):
            return end
    return None


CHARTS: list[tuple[Callable[[Sequence[Step]], Iterator[Finding]], str, float]] = [
    (control.hidden_gap, "M4", 0.10),
    (control.abrupt, "M6", 0.10),
    (control.laundering, "M10", 0.05),
    (course.waste, "M9", 0.02),
    (course.coupled, "M17", 0.10),
]
"""Signal, and the share of quiet runs of 60 updates in which it may be raised at all."""


@pytest.mark.parametrize(("look", "signal", "bound"), CHARTS)
def test_a_quiet_run_raises_few_alarms(
    look: Callable[[Sequence[Step]], Iterator[Finding]], signal: str, bound: float
) -> None:
    raised = sum(first(look, quiet(random.Random(seed)), signal) is not None for seed in range(SERIES))
    assert raised / SERIES <= bound


def test_a_quiet_rate_has_few_change_points() -> None:
    raised = 0
    for seed in range(SERIES):
        odds = control.change_odds([(one.tamper, one.attempts) for one in quiet(random.Random(seed))])
        raised += any(
            min(odds[end - 2 : end]) > control.LIKELY for end in range(2 * control.NEAR, LENGTH + 1)
        )
    assert raised / SERIES <= 0.05


def spoilt(seed: int, at: int, **change: Callable[[Step, random.Random], object]) -> list[Step]:
    chance = random.Random(seed)
    steps = quiet(chance)
    return [
        one
        if one.step < at
        else Step(
            **{
                **{name: getattr(one, name) for name in Step.__slots__},
                **{k: f(one, chance) for k, f in change.items()},
            }
        )  # type: ignore[arg-type]
        for one in steps
    ]


FAULTS = [
    # The visible share rises by two standard deviations of the gap.
    (control.hidden_gap, "M4", {"visible": lambda one, chance: one.visible + 0.12}, 15),
    (control.abrupt, "M6", {"tamper": lambda one, chance: 25}, 8),
    (control.abrupt, "M6", {"reward": lambda one, chance: one.reward + 0.5}, 16),
    (control.change_points, "M7", {"tamper": lambda one, chance: 25}, 4),
    (control.laundering, "M10", {"infra": lambda one, chance: 12}, 2),
    (course.waste, "M9", {"dead": lambda one, chance: 0.9}, 5),
]


@pytest.mark.parametrize(("look", "signal", "change", "within"), FAULTS)
def test_a_planted_fault_is_found_soon(
    look: Callable[[Sequence[Step]], Iterator[Finding]],
    signal: str,
    change: dict[str, Callable[[Step, random.Random], object]],
    within: int,
) -> None:
    delays = []
    for seed in range(20):
        found = first(look, spoilt(seed, 40, **change), signal)
        delays.append(math.inf if found is None else found - 39)
    assert sorted(delays)[17] <= within


def group(task: str, passes: int, attempts: int = 8, family: str = "f", masked: int = 0) -> Tried:
    return Tried(task, family, "core", "uniform", passes, attempts, masked, f"group of {task}")


def test_a_task_that_suddenly_passes_is_a_spike_and_one_that_learns_is_none() -> None:
    dead = [step(number, tried=(group("p/a", 0), group("p/b", number % 3))) for number in range(1, 9)]
    found = list(spikes.spikes([*dead, step(9, tried=(group("p/a", 8), group("p/b", 2)))]))
    assert [(one.signal, one.subject, one.action) for one in found] == [("M2", "p/a", "quarantine")]
    assert found[0].cause == ("group of p/a",)
    learning = [step(number, tried=(group("p/a", number),)) for number in range(1, 9)]
    assert all(not list(spikes.spikes(learning[:end])) for end in range(1, 9))


def test_in_control_groups_raise_a_task_spike_in_fewer_than_one_update_in_a_hundred() -> None:
    chance, raised, looked = random.Random(5), 0, 0
    for _ in range(20):
        rates = [chance.random() for _ in range(12)]
        steps: list[Step] = []
        for number in range(1, 21):
            tried = tuple(
                group(f"p/{place}", sum(chance.random() < rate for _ in range(8)), family=f"f{place}")
                for place, rate in enumerate(rates)
            )
            steps.append(step(number, tried=tried))
            looked += 1
            raised += bool(list(spikes.spikes(steps)))
    assert raised / looked <= 0.01


def test_a_family_spikes_together() -> None:
    before = [step(number, tried=tuple(group(f"p/{n}", 1) for n in range(4))) for number in range(1, 5)]
    now = step(5, tried=tuple(group(f"p/{n}", 5) for n in range(4)))
    assert "M3" in {one.signal for one in spikes.spikes([*before, now])}


def test_the_tail_is_that_of_the_beta_binomial() -> None:
    # With a uniform prior every count of passes is as likely as another.
    assert spikes.tail(8, 8, 1, 1) == pytest.approx(1 / 9)
    assert spikes.tail(0, 8, 3, 5) == pytest.approx(1)
    assert spikes.rejected([0.001, 0.5, 0.02, 0.9], 0.05) == {0, 2} or spikes.rejected(
        [0.001, 0.5, 0.02, 0.9], 0.05
    ) == {0}


def test_a_mastered_task_that_slips_is_told() -> None:
    good = [step(number, tried=(group("p/a", 8),)) for number in range(1, 6)]
    bad = [step(number, tried=(group("p/a", 0),)) for number in range(6, 12)]
    found = [number for number in range(6, 12) if list(spikes.slipped([*good, *bad][:number]))]
    assert not list(spikes.slipped(good)) and (found == [] or found[0] <= 8)
    assert list(spikes.slipped([*good, step(6, tried=(group("p/a", 0, attempts=40),))]))


def test_masking_where_success_is_unlikely_is_laundering() -> None:
    hard, easy = group("p/hard", 0, masked=6), group("p/easy", 7)
    steps = [step(number, tried=(hard, easy)) for number in range(1, 9)]
    assert "run masked" in {one.subject for one in control.laundering(steps)}
    fair = [step(n, tried=(group("p/hard", 0, masked=1), group("p/easy", 7, masked=1))) for n in range(1, 9)]
    assert "run masked" not in {one.subject for one in control.laundering(fair)}


def test_reward_that_rises_while_the_held_out_score_falls_asks_for_a_pause() -> None:
    steps = [step(number, reward=number / 60) for number in range(1, 61)]
    rising = [(at, at / 60) for at in range(10, 61, 10)]
    assert not list(course.parted(steps, rising))
    falling = [(at, 0.5 - at / 200) for at in range(10, 61, 10)]
    (found,) = course.parted(steps, falling)
    assert (found.level, found.action) == ("critical", "pause") and found.snapshot[
        "spearman"
    ] == pytest.approx(-1)


def test_a_flat_score_is_a_plateau_and_a_rising_one_is_none() -> None:
    chance = random.Random(1)
    flat = [(n, min(n, 8) / 10 + chance.gauss(0, 0.01)) for n in range(1, 41)]
    best = max(range(40), key=lambda place: flat[place][1])
    flat[9] = (10, flat[best][1] + 0.01)
    rising = [(n, n / 50 + chance.gauss(0, 0.01)) for n in range(1, 41)]
    assert not list(course.plateau(rising))
    assert course.mann_kendall([score for _, score in rising[-14:]]) < 0.01
    quiet_tail = [*flat[:26], *((n, 0.8 + (-1) ** n * 0.01) for n in range(27, 41))]
    assert [one.signal for one in course.plateau(quiet_tail)] in (["M8"], [])
    assert course.mann_kendall([1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2]) > 0.1


def test_tripwires_need_no_history() -> None:
    rows = [
        {"task_key": "canary/x", "id": "1", "status": "pass", "reward": 1.0, "outcomes": []},
        {"task_key": "p/repo", "id": "2", "status": "tamper", "reward": 0.0, "outcomes": ["twin"]},
        {"task_key": "p/sound", "id": "3", "status": "pass", "reward": 1.0, "outcomes": []},
        {"task_key": "canary/x", "id": "4", "status": "fail", "reward": 0.0, "outcomes": []},
    ]
    found = {one.subject: one for one in tripwires.tripped(rows, frozenset({"canary/x"}))}
    assert set(found) == {"canary/x", "p/repo"}
    assert found["canary/x"].cause == ("1",) and found["p/repo"].action == "quarantine"
    (broken,) = tripwires.gold_failed([{"task": "p/t", "group": "g", "status": "fail", "seed": "7"}])
    assert (broken.signal, broken.action) == ("M11", "quarantine")
    flaky = list(tripwires.flaky([{"task_key": "p/t", "cases": 10, "flaky": 1, "worst": 0.1}]))
    assert flaky[0].action == "quarantine"
    assert not list(tripwires.flaky([{"task_key": "p/t", "cases": 10, "flaky": 0, "worst": 0.0}]))


def test_curves_are_of_the_uniform_share_alone() -> None:
    chosen = Tried("p/a", "f", "core", "utility", 8, 8, 0)
    steps = [step(1, tried=(group("p/a", 2), group("p/b", 4))), step(2, tried=(chosen, group("p/b", 5)))]
    assert curves(steps, "task") == {"p/a": [(1, 2, 8)], "p/b": [(1, 4, 8), (2, 5, 8)]}
    assert curves(steps, "family") == {"f": [(1, 6, 16), (2, 5, 8)]}


def test_a_step_is_made_of_rows_and_reads_back() -> None:
    rows = [
        {"id": str(n), "group_id": "g", "task_key": "p/a", "status": status, "reward": reward, "sampled_tokens": 10,
         "visible": visible, "hidden": hidden, "judge_s": 0.1 * n}
        for n, (status, reward, visible, hidden) in enumerate(
            [("pass", 1.0, 1.0, 1.0), ("fail", 0.0, 1.0, 0.2), ("infra", None, None, None), ("tamper", 0.0, None, None)]
        )
    ]  # fmt: skip
    made = step_of(3, rows, {"p/a": ("f", "core")}, {"p/a": "utility"}, {"entropy": 0.5})
    assert (made.visible, made.hidden, made.gap) == (1.0, 0.6, pytest.approx(0.4))
    assert (made.tamper, made.infra, made.dead) == (1, 1, 0.0)
    (one,) = made.tried
    assert (one.passes, one.attempts, one.masked, one.share) == (1, 3, 1, "utility")
    assert Step.from_json(made.to_json()) == made
    assert posteriors([made])["p/a"] == (2.0, 3.0)
