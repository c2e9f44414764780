"""What is exported keeps the rules of its format, comes back as it was, and runs where it says that it does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from test_importers import DATA, imported
from test_store import ATTEMPT, VERDICT

from appliance import attacks
from appliance.cli.main import run
from appliance.errors import TaskError, UsageError
from appliance.exporters import atif, chat, harbor, swe_bench
from appliance.exporters.transcript import Transcript
from appliance.judge import Judge
from appliance.kinds import load_kind
from appliance.manifest import read_tree
from appliance.nouns import Task
from appliance.paths import Paths, from_environment
from appliance.pool import folder
from appliance.store import Store
from appliance.tasks import load_pack, load_task, shipped_packs
from appliance.yard import Yard

ATTACKED = Path(attacks.__path__[0]) / "pack"
STARTER = shipped_packs()["starter"]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache"), warm=True) as yard:
        yield Judge(yard)


# Harbor.


def test_every_task_comes_back_from_harbor_as_it_was(tmp_path: Path) -> None:
    """Tasks of every kind, an unknown key and an executable file among them."""
    odd = folder.read(STARTER / "clamp")
    odd = replace(
        odd,
        manifest={**odd.manifest, "mcp": {"server": "unknown to us"}},
        files={**odd.files, "environment/run": b"#!/bin/sh\n"},
        executable=frozenset({"environment/run"}),
    )
    tasks = [load_task(folder.write(tmp_path / "odd", odd)), *load_pack(ATTACKED)]
    assert {task.kind for task in tasks} >= {"function", "stdio", "repo", "shell", "sql", "config"}
    for task in tasks:
        place = tmp_path / task.pack
        place.mkdir(exist_ok=True)
        harbor.write_tasks([task], place / "out")
        found = imported("harbor", place / "out", place / "back", task.pack)
        assert found.tasks == (task.key,)
        back = load_task(place / "back" / task.key.partition("/")[2])
        assert back.task_hash == replaced_hash(task, tmp_path)
        assert (back.public_hash, back.hidden_hash) == (task.public_hash, task.hidden_hash)
        assert folder.read(Path(back.folder)) == folder.read(Path(task.folder))
        (place / "out").rename(place / task.key.partition("/")[2])
        (place / "back").rename(place / f"{task.key.partition('/')[2]}-back")


def replaced_hash(task: Task, scratch: Path) -> str:
    """The hash of a task when its TOML is written by us: comments do not count as its content."""
    place = folder.write(scratch / f"plain-{task.pack}", folder.read(Path(task.folder)))
    return load_task(place).task_hash


@pytest.mark.parametrize(
    ("task", "wrong"),
    [
        (STARTER / "clamp", b"def clamp(*args):\n    return 1\n"),
        (DATA / "human-eval.jsonl", b"def half(n):\n    return n / 2\n"),
        (DATA / "apps.jsonl", b"print(4)\n"),
    ],
)
def test_an_exported_task_is_judged_by_its_own_script(task: Path, wrong: bytes, tmp_path: Path) -> None:
    """`function` with cases, `function` with assertions, and `stdio`; without a container, as one would run it."""
    if task.is_file():
        imported(task.stem, task, tmp_path / "pack")
        found = load_pack(tmp_path / "pack")[0]
    else:
        found = load_task(task)
    assert harbor.write_tasks([found], tmp_path / "out") == ["1 folders"]
    (place,) = (tmp_path / "out").iterdir()
    assert (place / "tests/test.sh").stat().st_mode & 0o100
    artefacts, _ = load_kind(found.kind).controls(found)["gold"]
    for body, reward in ((artefacts["solution.py"], "1"), (wrong, "0"), (b"exit(", "0"), (b"", "0")):
        (tmp_path / "app").mkdir(exist_ok=True)
        (tmp_path / "app/solution.py").write_bytes(body)
        words = [sys.executable, str(place / "tests/appliance_runner.py"), str(tmp_path / "app")]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == reward, body


def test_a_task_without_a_verifier_of_its_own_is_named(tmp_path: Path) -> None:
    (count, remark) = harbor.write_tasks([load_task(ATTACKED / "repo_spans")], tmp_path / "out")
    assert count == "1 folders" and "the kind 'repo' needs the appliance" in remark
    assert not list((tmp_path / "out").glob("*/tests/test.sh"))


def test_a_foreign_harbor_folder_is_blocked_with_what_it_needs(tmp_path: Path) -> None:
    for name, manifest in (
        ("one", '[environment]\ndocker_image = "x:1"\n'),
        ("two", "[[steps]]\nname = 'a'\n"),
    ):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "task.toml").write_text(manifest)
        (tmp_path / "in" / name / "instruction.md").write_text("Do it.")
    found = imported("harbor", tmp_path / "in", tmp_path / "pack")
    reasons = [row["reason"] for row in found.blocked]
    assert "needs an environment: the image x:1" in reasons[0] and "more than one step" in reasons[1]
    (tmp_path / "in/one/link").symlink_to("/etc/passwd")
    with pytest.raises(TaskError, match="not a regular file"):
        imported("harbor", tmp_path / "in", tmp_path / "other")
    (tmp_path / "in/one/link").unlink()
    (tmp_path / "in/one/task.toml").write_text("= broken")
    with pytest.raises(TaskError, match=r"one/task\.toml"):
        imported("harbor", tmp_path / "in", tmp_path / "other")


# SWE-bench.


@pytest.mark.jail
def test_a_repo_task_comes_back_from_swe_bench_and_is_judged_alike(tmp_path: Path, judge: Judge) -> None:
    task = load_task(ATTACKED / "repo_spans")
    (tmp_path / "out").mkdir()
    swe_bench.write_tasks([task], tmp_path / "out")
    rows = [json.loads(line) for line in (tmp_path / "out/rows.jsonl").read_text().splitlines()]
    assert {"instance_id", "repo", "base_commit", "patch", "test_patch"} <= rows[0].keys()
    arguments = ["--pack", str(tmp_path / "pack"), "--name", "attack", "--repos", str(tmp_path / "out/repos")]
    assert run(["task", "import", "swe-bench", str(tmp_path / "out/rows.jsonl"), *arguments]) == 0
    (back,) = load_pack(tmp_path / "pack")
    for part in ("environment", "solution", "tests/suite"):
        assert read_tree(Path(back.folder, part)) == read_tree(Path(task.folder, part))
    assert back.settings == task.settings
    for name, (artefacts, reward) in load_kind("repo").controls(back).items():
        assert judge.judge(back, artefacts, seed=2).reward == reward, name


def test_swe_bench_has_no_other_kind(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="of the kind 'function'"):
        swe_bench.write_tasks([load_task(STARTER / "clamp")], tmp_path)


def test_unknown_fields_of_a_row_are_written_back(tmp_path: Path) -> None:
    imported("swe-bench", DATA / "swe-bench.jsonl", tmp_path / "pack")
    (task,) = load_pack(tmp_path / "pack")
    row, _ = swe_bench.row_of(folder.read(Path(task.folder)))
    given = json.loads((DATA / "swe-bench.jsonl").read_text().splitlines()[0])
    for name in ("version", "created_at", "hints_text", "environment_setup_commit"):
        assert row[name] == given[name]


# Conversations and trajectories.


def test_conversations_come_back_equal(tmp_path: Path) -> None:
    found = imported("chat", DATA / "chat.jsonl", tmp_path / "pack")
    assert (found.examples, len(found.blocked)) == (2, 1)
    rows = [json.loads(line) for line in (DATA / "chat.jsonl").read_text().splitlines()]
    back = [json.loads(line) for line in (tmp_path / "pack/chat.jsonl").read_text().splitlines()]
    assert back == rows[:2]


def test_golds_become_conversations_and_what_measures_stays_out(tmp_path: Path) -> None:
    tasks = load_pack(STARTER)
    train = [task for task in tasks if task.split == "train"]
    assert 0 < len(train) < len(tasks)
    chat.write_tasks(tasks, tmp_path)
    found = imported("chat", tmp_path / "chat.jsonl", tmp_path / "pack")
    assert (found.examples, len(found.blocked)) == (len(train), 0)
    text = (tmp_path / "chat.jsonl").read_text()
    assert text == (tmp_path / "pack/chat.jsonl").read_text()
    row = json.loads(text.splitlines()[0])
    assert row["messages"][1]["content"] == Path(train[0].folder, "solution/solution.py").read_text()


def transcripts() -> list[Transcript]:
    task = next(task for task in load_pack(STARTER) if task.split == "train")
    attempt = replace(ATTEMPT, task_key=task.key, task_hash=task.task_hash)
    right = Transcript(attempt, VERDICT, "x \x1b[31m", 1.5, task)
    return [
        right,
        replace(right, verdict=replace(VERDICT, status="fail", reward=0.0)),
        replace(right, task=None),
    ]


def test_only_passing_attempts_at_known_train_tasks_become_conversations(tmp_path: Path) -> None:
    remarks = chat.write_attempts(transcripts(), tmp_path)
    (line,) = (tmp_path / "chat.jsonl").read_text().splitlines()
    assert json.loads(line)["messages"][1] == {"role": "assistant", "content": "x"}
    assert remarks[0] == "1 conversations" and remarks[1].startswith("2 attempts left out")


TOP = {
    "schema_version",
    "session_id",
    "trajectory_id",
    "agent",
    "steps",
    "notes",
    "final_metrics",
    "extra",
} | {
    "continued_trajectory_ref",
    "subagent_trajectories",
}
STEP = {
    "step_id",
    "timestamp",
    "source",
    "message",
    "is_copied_context",
    "llm_call_count",
    "observation",
    "extra",
}
AGENT_ONLY = {"model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"}
METRICS = {"prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", "prompt_token_ids"} | {
    "completion_token_ids",
    "logprobs",
    "extra",
}
FINAL = {
    f"total_{name}" for name in ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", "steps")
}


def check_trajectory(found: dict[str, Any]) -> None:
    """The rules of ATIF v1.7 that a file can break."""
    assert found["schema_version"] == "ATIF-v1.7" and found.keys() <= TOP
    assert found["agent"].keys() <= {"name", "version", "model_name", "tool_definitions", "extra"}
    assert found["final_metrics"].keys() <= FINAL | {"extra"}
    assert [step["step_id"] for step in found["steps"]] == list(range(1, len(found["steps"]) + 1))
    for step in found["steps"]:
        assert step["source"] in ("system", "user", "agent") and type(step["message"]) is str
        assert step.keys() <= (STEP | AGENT_ONLY if step["source"] == "agent" else STEP)
        assert datetime.fromisoformat(step["timestamp"]).tzinfo is not None
        assert step.get("metrics", {}).keys() <= METRICS


def test_a_trajectory_keeps_the_rules_of_atif(tmp_path: Path) -> None:
    atif.write_attempts(transcripts(), tmp_path)
    places = sorted(tmp_path.iterdir())
    assert len(places) == 3
    for place in places:
        check_trajectory(json.loads(place.read_text()))
    found = json.loads(places[0].read_text())
    metrics = found["steps"][1]["metrics"]
    assert (metrics["prompt_token_ids"], metrics["completion_token_ids"]) == ([1, 2], [3])
    assert metrics["logprobs"] == [-0.5]
    assert (found["extra"]["reward"], found["extra"]["status"]) == (1.0, "pass")
    with pytest.raises(AssertionError):
        check_trajectory({**found, "reward": 1.0})


def test_the_attempts_of_a_run_are_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("APPLIANCE_HOME", str(tmp_path / "home"))
    paths = from_environment({"APPLIANCE_HOME": str(tmp_path / "home")})
    with Store(paths.store, paths.objects) as store:
        store.add_run("r", created=1.0, seed=0, recipe={}, folder=tmp_path)
        store.add_attempt(ATTEMPT, "x", created=1.0)
        store.add_attempt(replace(ATTEMPT, id="r/other", index=1), "y", created=2.0)
        store.set_verdict(ATTEMPT.id, VERDICT)
    assert run(["attempt", "export", "atif", "r", "--out", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["attempts"] == 1
    (place,) = (tmp_path / "out").iterdir()
    assert json.loads(place.read_text())["trajectory_id"] == ATTEMPT.id
    assert run(["attempt", "export", "atif", "none", "--out", str(tmp_path / "two")]) == 4
    assert not (tmp_path / "two").exists()


def test_the_command_exports_and_refuses_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["task", "export", "chat", "--all", "--out", str(tmp_path / "out")]
    assert run(words) == 0
    assert "conversations" in capsys.readouterr().out
    assert run(words) == UsageError.exit_code
    assert run(["task", "export", "chat", "--out", str(tmp_path / "two")]) == UsageError.exit_code
    assert run(["task", "export", "atif", "--all", "--out", str(tmp_path / "two")]) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
