"""The whole loop, as a user starts it: real nsjail, Huey, SQLite, llama.cpp and torch on a tiny random model.

The tasks ask for a function that returns one digit; the model, made on the spot, writes digits at random, so a
group of attempts has both passes and failures and there is something to learn.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from appliance import events
from appliance.store import Store

pytestmark = pytest.mark.jail
PACK = Path(__file__).parent / "data" / "pack_tiny"
RECIPE = """
name = "tiny"
[model]
gguf = "{model}"
[tasks]
packs = ["{pack}"]
[sampling]
max_tokens = 1
[evaluation]
attempts = 8
[grpo]
updates = {updates}
tasks_per_update = 3
attempts_per_task = 12
learning_rate = 0.005
rank = 4
alpha = 8.0
[engine]
slots = 16
"""


def recipe(folder: Path, model: Path, updates: int, extra: str = "") -> Path:
    path = folder / "recipe.toml"
    path.write_text(RECIPE.format(model=model, pack=PACK, updates=updates) + extra)
    return path


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "APPLIANCE_HOME": str(home)}


def appliance(home: Path, *arguments: str | Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "appliance", *map(str, arguments)]
    return subprocess.run(command, env=environment(home), capture_output=True, text=True, timeout=timeout)


def metrics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def updates(folder: Path) -> list[dict[str, Any]]:
    return [row for row in metrics(folder) if row["kind"] == "update"]


@pytest.fixture(scope="module")
def finished(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A home with one finished run, and what `train --json` printed."""
    home = tmp_path_factory.mktemp("home")
    done = appliance(home, "train", recipe(home, tiny_model, updates=10), "--seed", "1", "--json")
    assert done.returncode == 0, done.stderr
    return home, json.loads(done.stdout)


def test_a_run_finishes_and_its_folder_holds_everything(finished: tuple[Path, dict[str, Any]]) -> None:
    home, printed = finished
    folder = Path(printed["folder"])
    assert printed["state"] == "finished"
    assert len(updates(folder)) == 10
    resolved = json.loads((folder / "recipe.json").read_text())
    assert resolved["recipe"]["seed"] == 1 and resolved["origins"]["seed"] == "flag"
    for name in ("events.jsonl", "report.md", "adapters/final.gguf", "adapters/peft/adapter_config.json"):
        assert (folder / name).stat().st_size > 0
    assert next(folder.glob("*.png")).read_bytes().startswith(b"\x89PNG")
    assert home in folder.parents


def test_the_policy_learns(finished: tuple[Path, dict[str, Any]]) -> None:
    """The seed is fixed and batches are formed in order, so this is a known answer, not a chance."""
    rows = updates(Path(finished[1]["folder"]))
    first, last = (sum(row["reward_mean"] for row in part) / 2 for part in (rows[:2], rows[-2:]))
    assert last > first + 0.15


def test_every_attempt_is_judged_and_the_chain_holds(finished: tuple[Path, dict[str, Any]]) -> None:
    home, printed = finished
    with Store(home / "data" / "store.db", home / "data" / "objects") as store:
        assert events.verify(store.events()) > 20
        total, rows = store.attempts(printed["run"], limit=10_000)
        assert total == 10 * 3 * 12 + 2 * 2 * 8
        assert {row["status"] for row in rows} <= {"pass", "fail"}
        assert len(store.evaluations(printed["run"])) == 2


def test_a_stored_verdict_replays_to_the_same(finished: tuple[Path, dict[str, Any]]) -> None:
    home, printed = finished
    with Store(home / "data" / "store.db", home / "data" / "objects") as store:
        _, rows = store.attempts(printed["run"], limit=10_000)
        seeds = {(row["id"].rpartition("/")[0], store.verdict(row["id"]).seed) for row in rows}  # type: ignore[union-attr]
    groups = [group for group, _ in seeds]
    assert len(groups) == len(set(groups)) == len({seed for _, seed in seeds})
    for status in ("pass", "fail"):
        chosen = next(row["id"] for row in rows if row["status"] == status)
        done = appliance(home, "attempt", "rejudge", chosen, "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["same"] and found["same_verifier"] and found["differences"] == {}
    verified = appliance(home, "run", "verify", "--json")
    assert json.loads(verified.stdout)["verdicts"] >= len(rows) + 2


def test_engine_and_learner_agreed(finished: tuple[Path, dict[str, Any]]) -> None:
    lines = (Path(finished[1]["folder"]) / "events.jsonl").read_text().splitlines()
    parity = [json.loads(line)["data"] for line in lines if '"parity.measured"' in line]
    assert len(parity) == 1 and parity[0]["mean"] < 0.005
    for row in updates(Path(finished[1]["folder"])):
        assert row.get("mean_abs_logratio", 0.0) < 0.01


def test_the_same_seed_gives_the_same_run(
    finished: tuple[Path, dict[str, Any]], tiny_model: Path, tmp_path: Path
) -> None:
    done = appliance(tmp_path, "train", recipe(tmp_path, tiny_model, updates=3), "--seed", "1", "--json")
    assert done.returncode == 0, done.stderr
    again = updates(Path(json.loads(done.stdout)["folder"]))
    same = ("reward_mean", "loss", "grad_norm", "sampled_tokens", "dead_fail", "dead_pass")
    for ours, theirs in zip(updates(Path(finished[1]["folder"])), again, strict=False):
        assert [ours[key] for key in same] == [theirs[key] for key in same]


def test_attempts_and_runs_can_be_listed(finished: tuple[Path, dict[str, Any]]) -> None:
    home, printed = finished
    listed = json.loads(appliance(home, "run", "list", "--json").stdout)
    assert [row["id"] for row in listed["runs"]] == [printed["run"]]
    found = json.loads(appliance(home, "attempt", "list", printed["run"], "--limit", "2", "--json").stdout)
    assert found["truncated"] and len(found["attempts"]) == 2
    shown = json.loads(appliance(home, "attempt", "show", found["attempts"][0]["id"], "--json").stdout)
    assert shown["verdict"]["task"] == shown["attempt"]["task_key"]
    assert "verdict" in appliance(home, "attempt", "show", found["attempts"][0]["id"]).stdout
    assert printed["run"] in appliance(home, "run", "list").stdout
    none = appliance(home, "attempt", "list", printed["run"], "--task", "p/nope")
    assert (none.returncode, none.stdout) == (0, "")
    assert "no attempt matches" in none.stderr


def test_a_finished_run_has_nothing_to_go_on_with(finished: tuple[Path, dict[str, Any]]) -> None:
    home, printed = finished
    done = appliance(home, "train", "--resume", printed["run"])
    assert done.returncode == 2
    assert f"run show {printed['run']}" in done.stderr


def test_a_copied_home_leaves_the_original_alone(
    finished: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    home, printed = finished
    shutil.copytree(home / "data", tmp_path / "data")
    shown = json.loads(appliance(tmp_path, "run", "show", printed["run"], "--json").stdout)
    assert tmp_path in Path(shown["folder"]).parents
    shutil.rmtree(tmp_path / "data" / "runs" / printed["run"])
    with Store(tmp_path / "data" / "store.db", tmp_path / "data" / "objects") as store:
        store.set_run(printed["run"], state="stopped")
    refused = appliance(tmp_path, "train", "--resume", printed["run"])
    assert refused.returncode == 7
    assert str(tmp_path) in refused.stderr


def test_a_run_whose_checkpoints_are_gone_does_not_begin_anew(
    finished: tuple[Path, dict[str, Any]], tiny_model: Path, tmp_path: Path
) -> None:
    home, printed = finished
    shutil.copytree(home / "data", tmp_path / "data")
    shutil.rmtree(tmp_path / "data" / "runs" / printed["run"] / "checkpoints")
    with Store(tmp_path / "data" / "store.db", tmp_path / "data" / "objects") as store:
        store.set_run(printed["run"], state="stopped")
    refused = appliance(tmp_path, "train", "--resume", printed["run"])
    assert refused.returncode == 7
    assert "no checkpoint" in refused.stderr


def test_a_report_is_shown_where_its_files_cannot_be_written(finished: tuple[Path, dict[str, Any]]) -> None:
    home, printed = finished
    folder = Path(printed["folder"])
    folder.rename(folder.with_name("aside"))
    folder.touch()
    shown = appliance(home, "run", "show", printed["run"])
    folder.unlink()
    folder.with_name("aside").rename(folder)
    assert shown.returncode == 0
    assert "held-out pass@1" in shown.stdout
    assert "not made anew" in shown.stderr


def start(home: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "appliance", "train", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment(home), **pipes)  # type: ignore[call-overload]


def wait_for(home: Path, table: str, count: int) -> str:
    """Wait until a run in `home` has `count` rows in `table`; return its id."""
    store = home / "data" / "store.db"
    for _ in range(600):
        time.sleep(0.1)
        if not store.exists():
            continue
        try:
            with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as reader:
                rows = reader.execute(f"SELECT run_id, count(*) FROM {table} GROUP BY run_id").fetchall()
        except sqlite3.Error:
            continue
        if rows and rows[0][1] >= count:
            return str(rows[0][0])
    raise AssertionError("the run made no progress")


def weights(folder: Path) -> bytes:
    """The numbers of the last adapter, without the header, which names the run."""
    body = (folder / "adapters" / "peft" / "adapter_model.safetensors").read_bytes()
    return body[8 + int.from_bytes(body[:8], "little") :]


@pytest.fixture(scope="module")
def uninterrupted(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing happened to."""
    home = tmp_path_factory.mktemp("whole")
    done = appliance(home, "train", recipe(home, tiny_model, updates=6), "--json")
    assert done.returncode == 0, done.stderr
    return Path(json.loads(done.stdout)["folder"])


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_goes_on_and_ends_bit_equal(
    tiny_model: Path, tmp_path: Path, how: signal.Signals, uninterrupted: Path
) -> None:
    child = start(tmp_path, recipe(tmp_path, tiny_model, updates=6), "--json")
    run_id = wait_for(tmp_path, "updates", 2)
    child.send_signal(how)
    _, told = child.communicate(timeout=60)
    if how == signal.SIGINT:
        assert child.returncode == 130, told
        assert f"--resume {run_id}" in told
    else:
        assert "died" in appliance(tmp_path, "run", "list").stdout
        assert f"--resume {run_id}" in appliance(tmp_path, "run", "show", run_id).stderr
    done = appliance(tmp_path, "train", "--resume", run_id, "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert (printed["run"], printed["state"]) == (run_id, "finished")
    with Store(tmp_path / "data" / "store.db", tmp_path / "data" / "objects") as store:
        assert [row["step"] for row in store.updates(run_id)] == [1, 2, 3, 4, 5, 6]
        assert events.verify(store.events()) > 10
        attempts = [store.outcomes(run_id, step, "train") for step in range(1, 7)]
    assert [len(rows) for rows in attempts] == [36] * 6, "every attempt is counted once"
    assert all(row["status"] for rows in attempts for row in rows.values())
    assert len(weights(uninterrupted)) > 1000
    assert weights(Path(printed["folder"])) == weights(uninterrupted)


def test_two_runs_at_once_in_one_home_are_refused(tiny_model: Path, tmp_path: Path) -> None:
    child = start(tmp_path, recipe(tmp_path, tiny_model, updates=50))
    wait_for(tmp_path, "updates", 1)
    refused = appliance(tmp_path, "train", tmp_path / "recipe.toml")
    assert refused.returncode == 1
    assert "another run" in refused.stderr
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=60)
    assert child.returncode == 130


@pytest.mark.parametrize("table", ["attempts", "updates"])
def test_a_run_survives_the_death_of_its_engine(tiny_model: Path, tmp_path: Path, table: str) -> None:
    child = start(tmp_path, recipe(tmp_path, tiny_model, updates=4), "--json")
    wait_for(tmp_path, table, 2)
    os.kill(wait_for_child(child.pid, "appliance.engine"), signal.SIGKILL)
    printed, told = child.communicate(timeout=120)
    assert child.returncode == 0, told
    folder = Path(json.loads(printed)["folder"])
    assert len(updates(folder)) == 4
    assert (folder / "events.jsonl").read_text().count('"engine.restarted"') == 1


def wait_for_child(parent: int, module: str) -> int:
    """The pid of the child of `parent` that runs `module`."""
    for _ in range(300):
        for number in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
            if module in Path(f"/proc/{number}/cmdline").read_bytes().decode().split("\0"):
                return int(number)
        time.sleep(0.1)
    raise AssertionError(f"no child runs {module}")
