"""The verdict word: each rule alone, and their order."""

from __future__ import annotations

from typing import Any

import pytest

from appliance.tui.health import RULES, duration, judge_health
from appliance.tui.source import Snapshot

NOW = 10_000.0
USUAL = {"groups": 8, "dead_fail": 1, "dead_pass": 1, "attempts": 64, "masked": 0, "truncated": 2}


def snapshot(
    rewards: list[float] | None = None, metrics: dict[str, Any] | None = None, **other: Any
) -> Snapshot:
    rising = [0.1 + 0.05 * step for step in range(12)]
    rows = tuple(
        {"step": step, "metrics": USUAL | {"reward_mean": reward, "sample_s": 9.0} | (metrics or {})}
        for step, reward in enumerate(rising if rewards is None else rewards, start=1)
    )
    usual: dict[str, Any] = {
        "time": NOW,
        "frozen": False,
        "run": {"id": "r", "state": "running", "recipe": {}},
        "updates": rows,
        "sign_of_life": NOW - 1,
        "stage": {"time": NOW - 2, "kind": "stage", "data": {"stage": "sample"}},
    }
    return Snapshot(**(usual | other))


def run(state: str) -> dict[str, Any]:
    return {"id": "r", "state": state, "recipe": {}}


CASES: list[tuple[str, Snapshot, str]] = [
    ("learning", snapshot(), "rose by 0.250"),
    ("learning", snapshot([]), "no update yet"),
    ("learning", snapshot([0.2]), "too early"),
    ("learning", snapshot([0.2, 0.1]), "0.20 → 0.10 so far"),
    ("flat", snapshot([0.5] * 12), "moved by 0.000"),
    ("flat", snapshot([0.5] * 6 + [0.3] * 6), "fell by"),
    ("wasting", snapshot(metrics={"dead_fail": 6}), "28 of 32 groups taught nothing, mostly too hard"),
    ("wasting", snapshot(metrics={"dead_pass": 6}), "mostly too easy"),
    ("wasting", snapshot(metrics={"truncated": 40}), "62 % of the attempts were cut off"),
    ("degraded", snapshot(metrics={"masked": 8}), "32 of 256 attempts lost to host faults"),
    (
        "starved",
        snapshot(stage={"time": NOW - 40, "kind": "stage", "data": {"stage": "sample"}}),
        "no attempt ended for 40 s",
    ),
    ("down", snapshot(sign_of_life=NOW - 3700), "silent for 1 h 1 min"),
    ("finished", snapshot(run=run("finished"), pass_rates=((0, 0.25), (12, 0.5))), "25.0 % → 50.0 %"),
    ("stopped", snapshot(run=run("stopped")), "appliance train --resume r"),
    ("died", snapshot(run=run("died")), "appliance train --resume r"),
    ("stopped", snapshot(run={**run("stopped"), "supervisor": "daemon"}), "appliance run resume r"),
    ("queued", snapshot([], run=run("queued")), "after 0 updates"),
    ("paused", snapshot(run=run("paused"), sign_of_life=0.0), "appliance run resume r"),
    (
        "failed",
        snapshot(run=run("failed"), failure={"data": {"error": "\x1b[31mno disk"}}),
        "no disk",
    ),
    ("failed", snapshot(run=run("failed")), "no reason was recorded"),
    ("empty", snapshot(run=None), "no run in this store yet"),
]


@pytest.mark.parametrize(
    ("word", "seen", "reason"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_word_and_reason(word: str, seen: Snapshot, reason: str) -> None:
    health = judge_health(seen, NOW)
    assert health.word == word
    assert reason in health.reason
    assert "\x1b" not in health.reason


def test_every_rule_on_the_help_screen_is_tested_and_every_word_explained() -> None:
    assert {word for word, _ in RULES} == {word for word, _, _ in CASES} - {"empty"}


def test_rules_are_tried_in_the_order_they_are_printed() -> None:
    bad = {"masked": 20, "dead_fail": 8}
    assert judge_health(snapshot([0.5] * 12, bad, sign_of_life=0.0, run=run("failed")), NOW).word == "failed"
    assert judge_health(snapshot([0.5] * 12, bad, sign_of_life=0.0), NOW).word == "down"
    assert judge_health(snapshot([0.5] * 12, bad), NOW).word == "degraded"
    assert judge_health(snapshot([0.5] * 12, {"dead_fail": 8}), NOW).word == "wasting"


def test_a_long_stage_is_not_down_before_three_times_its_usual_length() -> None:
    slow = {"learn_s": 100.0}
    assert judge_health(snapshot(metrics=slow, sign_of_life=NOW - 250), NOW).word != "down"
    assert judge_health(snapshot(metrics=slow, sign_of_life=NOW - 301), NOW).word == "down"


def test_damaged_metrics_are_no_data() -> None:
    odd = {"reward_mean": "high", "groups": None, "masked": float("nan"), "attempts": True}
    assert judge_health(snapshot(metrics=odd), NOW).word == "learning"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(-5, "0 s"), (59.9, "59 s"), (185, "3 min 5 s"), (7800, "2 h 10 min"), (349_200, "4 d 1 h")],
)
def test_duration(seconds: float, told: str) -> None:
    assert duration(seconds) == told
