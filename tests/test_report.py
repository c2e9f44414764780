"""The report of a run: numbers known by hand, files, advice, and what it does with half a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from appliance.advice import Findings, next_steps
from appliance.errors import NotFoundError, StoreError
from appliance.report import write_report
from appliance.statistics import Change
from appliance.store import Store

RUN = "small_run*-s0"
BEFORE = {"p/a": (0, "easy"), "p/b": (2, "easy"), "p/c": (4, "core"), "p/d": (1, "hard")}
AFTER = {"p/a": (4, "easy"), "p/b": (6, "easy"), "p/c": (8, "core"), "p/d": (0, "hard")}
METRICS = {"reward_mean": 0.25, "groups": 4, "dead_fail": 1, "dead_pass": 0, "attempts": 32, "truncated": 1}


def evaluation(passed: Mapping[str, tuple[int, str]], created: float) -> dict[str, Any]:
    by_task = {key: {"n": 8, "c": count, "tier": tier} for key, (count, tier) in passed.items()}
    rate = sum(count / 8 for count, _ in passed.values()) / len(passed)
    return {
        "created": created,
        "pass_rate": rate,
        "by_task": by_task,
        "policy_version": "b",
        "seconds": 10.0,
    }


def write_run(folder: Path, *, updates: int = 2, after: bool = True, state: str = "finished") -> Path:
    path = folder / "store.db"
    with Store(path, folder / "objects") as store:
        store.add_run(RUN, created=1.0, seed=0, recipe={"name": "small"}, folder=folder)
        store.set_run(RUN, state=state, finished=90.0)
        store.add_evaluation(RUN, 0, evaluation(BEFORE, 2.0))
        for step in range(1, updates + 1):
            store.add_update(RUN, step, 10.0 * step, 20.0, METRICS | {"reward_mean": 0.25 * step})
        if after:
            store.add_evaluation(RUN, updates, evaluation(AFTER, 80.0))
        rows = [
            {"id": f"g{place}", "run_id": RUN, "step": 1, "task_key": key, "purpose": "train"}
            for place, key in enumerate(("p/never", "p/mixed"))
        ]
        store.add_groups([row | {"policy_version": "b"} for row in rows])
        store.close_group("g0", "all_fail", 0.0)
        store.close_group("g1", "mixed", 0.5)
    return path


def test_numbers_by_hand(tmp_path: Path) -> None:
    report = write_report(write_run(tmp_path), RUN, tmp_path / "run")
    told = report.to_json()
    overall, easy, core, hard = told["held_out"]
    assert (overall["name"], overall["tasks"]) == ("all", 4)
    assert overall["before"] == pytest.approx(7 / 32)
    assert overall["after"] == pytest.approx(18 / 32)
    assert overall["change"] == pytest.approx(11 / 32)
    assert overall["interval"] == [pytest.approx(-1 / 8 + (5 / 8) / 4, abs=0.2), pytest.approx(0.5)]
    assert easy["interval"] == [0.5, 0.5]
    assert (core["tasks"], core["change"]) == (1, 0.5)
    assert hard["change"] == pytest.approx(-1 / 8)
    assert told["rewards"] == (0.25, 0.5)
    assert (told["dead_fail"], told["dead_pass"]) == (0.25, 0.0)
    assert told["seconds"] == 60.0
    json.dumps(told)


def test_text_table_and_files(tmp_path: Path) -> None:
    report = write_report(write_run(tmp_path), RUN, tmp_path / "run")
    lines = [line.split() for line in report.text.splitlines()]
    assert ["easy", "2", "12.5", "%", "62.5", "%", "+50.0", "+50.0", "to", "+50.0"] in lines
    assert "Held-out pass@1 21.9 % → 56.2 %: +34.4 points" in report.text
    assert "Training reward 0.25 → 0.50 over 2 updates." in report.text
    assert "25 % all-fail, 0 % all-pass" in report.text
    assert max(len(line) for line in report.text.splitlines() if "files:" not in line) <= 100
    assert (tmp_path / "run/curves.png").read_bytes().startswith(b"\x89PNG\r\n")
    page = (tmp_path / "run/report.md").read_text()
    assert "| easy | 2 | 12.5 % | 62.5 % | +50.0 | +50.0 to +50.0 |" in page
    assert "# Report of small\\_run\\*-s0" in page
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["curves.png", "report.md"]


def test_the_same_store_gives_the_same_report(tmp_path: Path) -> None:
    store = write_run(tmp_path)
    once, twice = (write_report(store, RUN, tmp_path / "run") for _ in range(2))
    assert once == twice


def test_half_a_run_says_what_is_missing(tmp_path: Path) -> None:
    store = write_run(tmp_path, updates=0, after=False, state="stopped")
    report = write_report(store, RUN, tmp_path / "run")
    assert "Held-out change: no data yet" in report.text
    assert "no update is done" in report.text
    assert f"appliance train --resume {RUN}" in report.text
    assert report.to_json()["held_out"][0] == {
        "name": "all",
        "tasks": 4,
        "before": pytest.approx(7 / 32),
        "after": None,
        "change": None,
        "interval": None,
    }


def test_a_failed_run_says_why_and_a_resumed_one_no_more(tmp_path: Path) -> None:
    path = write_run(tmp_path, state="failed")
    with Store(path, tmp_path / "objects") as store:
        store.append_event(91.0, RUN, "run.failed", 0, {"error": "the engine \x1b[2Jdied"})
    report = write_report(path, RUN, tmp_path / "run")
    assert "It failed: the engine died" in report.text
    assert "It failed: the engine died" in (tmp_path / "run/report.md").read_text()
    assert report.to_json()["error"] == "the engine died"
    with Store(path, tmp_path / "objects") as store:
        store.set_run(RUN, state="finished")
    assert "It failed" not in write_report(path, RUN, tmp_path / "run").text


def test_missing_store_and_run(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as missing:
        write_report(tmp_path / "none.db", RUN, tmp_path)
    assert missing.value.remedy
    with pytest.raises(NotFoundError, match="no run 'other'"):
        write_report(write_run(tmp_path), "other", tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    store = write_run(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        write_report(store, RUN, tmp_path / "file" / "run")


def test_importing_the_report_loads_no_matplotlib() -> None:
    import subprocess

    code = "import sys, appliance.report; sys.exit('matplotlib' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def findings(**changes: Any) -> Findings:
    usual: dict[str, Any] = {
        "run_id": "r",
        "state": "finished",
        "overall": Change(20, 0.25, 0.45, 0.1, 0.3),
        "rates": ({"p/a": 0.2}, {"p/a": 0.6}),
        "last_step": 20,
        "rewards": (0.3, 0.5),
        "dead": (0.1, 0.1),
        "truncated": 0.0,
        "masked": 0,
        "train_tasks": (),
        "go_on": "appliance train --resume r",
    }
    return Findings(**(usual | changes))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"state": "stopped"}, "--resume r"),
        ({"masked": 3}, "3 attempts were lost to host faults"),
        ({"overall": Change(20, 0.25, 0.3, -0.02, 0.12)}, "the interval holds zero"),
        ({"overall": Change(20, 0.25, 0.3, 0.01, 0.12), "rewards": (0.2, 0.8)}, "more varied train tasks"),
        ({"dead": (0.5, 0.0)}, "add easier tasks"),
        ({"dead": (0.0, 0.5)}, "add harder tasks"),
        ({"truncated": 0.5}, "raise sampling.max_tokens"),
        ({"rates": ({"p/a": 0.5, "p/b": 0.1}, {"p/a": 0.2, "p/b": 0.2})}, "got worse: p/a"),
        ({"train_tasks": ({"task_key": "p/never", "groups": 2, "all_fail": 2},)}, "never passed: p/never"),
    ],
)
def test_each_rule_speaks_when_it_holds_and_only_then(changes: dict[str, Any], told: str) -> None:
    assert any(told in step for step in next_steps(findings(**changes)))
    assert not any(told in step for step in next_steps(findings()))


def test_advice_is_clean() -> None:
    hostile = ({"task_key": "p/\x1b[31mred\n", "groups": 1, "all_fail": 1},)
    assert any("p/red" in step for step in next_steps(findings(train_tasks=hostile)))
