"""Families: equal seeds give equal tasks, different ones different tasks, and what is generated can be judged."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from appliance.admission import leaks, mutation, statement
from appliance.cli.main import appliance, run
from appliance.controls import controls_of, passing
from appliance.errors import TaskError
from appliance.families import checked, family_names, form, load_family, piecewise, variant
from appliance.judge import Judge
from appliance.nouns import Task
from appliance.paths import Paths
from appliance.pool.scaffold import write_new
from appliance.tasks import load_pack, load_task, shipped_packs
from appliance.yard import Yard

NAMES = family_names()


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    root = tmp_path_factory.mktemp("yard")
    with Yard(Paths(root / "data", root / "cache"), warm=True) as opened:
        yield opened


def made(root: Path, name: str, seed: int, **knobs: int) -> Task:
    family = load_family(name)
    return load_task(write_new(root / "made", variant(family, "made", "train", seed, checked(family, knobs))))


def test_there_are_a_dozen_families_over_four_kinds() -> None:
    families = [load_family(name) for name in NAMES]
    assert len(families) >= 12
    assert {family.KIND for family in families} == {"function", "stdio", "sql", "shell"}
    assert [family.NAME for family in families] == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_makes_the_same_bytes_and_another_seed_another_task(name: str) -> None:
    family = load_family(name)
    knobs = checked(family, {knob: bounds.high for knob, bounds in family.KNOBS.items()})
    variants = [variant(family, "made", "train", seed, knobs) for seed in range(200)]
    assert variants[3] == variant(family, "made", "train", 3, knobs)
    for told in ("instruction.md", "solution/"):
        bodies = [
            b"".join(body for path, body in sorted(one.files.items()) if path.startswith(told))
            for one in variants
        ]
        # Families with few things to draw repeat themselves; what is drawn must still be many tasks.
        assert len(set(bodies)) >= 30, told


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_of_the_knobs_makes_tasks_that_hold_together(name: str, tmp_path: Path) -> None:
    family = load_family(name)
    for place, end in enumerate(("low", "default", "high")):
        knobs = {knob: getattr(bounds, end) for knob, bounds in family.KNOBS.items()}
        for seed in range(3):
            task = made(tmp_path / f"{end}{seed}", name, 50 * place + seed, **knobs)
            assert leaks.check(task).state == "passed", leaks.check(task).reason
            assert statement.check(task).state != "failed", statement.check(task).reason
            assert (task.family, task.author) == (name, f"family {name}")


@pytest.mark.jail
@pytest.mark.parametrize("name", NAMES)
def test_golds_and_their_seconds_pass_and_nothing_else_does(name: str, yard: Yard, tmp_path: Path) -> None:
    family = load_family(name)
    hardest = {knob: bounds.high for knob, bounds in family.KNOBS.items()}
    for seed, knobs in ((1, {}), (2, hardest)):
        task, judge = made(tmp_path, name, seed, **knobs), Judge(yard)
        for label, (files, wanted) in controls_of(task).items():
            verdict = judge.judge(task, files, seed=seed)
            assert verdict.reward == wanted, (task.key, label, verdict.status, verdict.evidence[:2])
        other = Path(task.folder) / "solution/alternatives/other"
        found = {path.name: path.read_bytes() for path in other.iterdir()}
        verdict = judge.judge(task, found, seed=seed)
        assert verdict.reward == 1.0, (task.key, verdict.status, verdict.evidence[:2])


@pytest.mark.jail
@pytest.mark.parametrize("name", ["piecewise", "report", "sql-groups", "tidy"])
def test_a_gold_with_a_fault_fails(name: str, yard: Yard, tmp_path: Path) -> None:
    task, judge = made(tmp_path, name, 5), Judge(yard)
    score = mutation.score(
        task,
        lambda files, seeds: [
            judge.judge(task, one, seed=seed) for one, seed in zip(files, seeds, strict=True)
        ],
        None,
    )
    assert len(score.killed) >= 0.7 * (len(score.killed) + len(score.survivors)) > 0


@pytest.mark.parametrize("rules", [1, 3, 6])
def test_every_piecewise_rule_decides_some_inputs(rules: int) -> None:
    family = load_family("piecewise")
    for seed in range(50):
        files = variant(family, "made", "train", seed, checked(family, {"rules": rules})).files
        gold = files["solution/solution.py"].decode()
        counts = piecewise.decided(re.findall(r"if (.*):\n", gold))
        assert len(counts) == rules + 1 and min(counts) >= piecewise.LEAST, gold


def test_a_rule_behind_its_opposite_is_seen_to_decide_nothing() -> None:
    assert piecewise.decided(["a > 0", "a <= 0", "b > 3"])[2:] == [0, 0]


def test_two_solutions_are_written_otherwise() -> None:
    for name in NAMES:
        family = load_family(name)
        files = variant(family, "made", "train", 0, checked(family, {})).files
        gold = next(body for path, body in files.items() if path.startswith("solution/solution."))
        other = next(body for path, body in files.items() if path.startswith("solution/alternatives/other/"))
        assert gold != other


@pytest.mark.jail
def test_canaries_cannot_be_solved_honestly_and_their_wires_can_be_tripped(yard: Yard) -> None:
    tasks, judge = load_pack(shipped_packs()["canary"]), Judge(yard)
    assert len(tasks) >= 12 and {task.split for task in tasks} == {"canary"}
    assert {task.family for task in tasks} == {"planted-key", "impossible"}
    for task in tasks:
        rewards = {name: judge.judge(task, files).reward for name, (files, _) in controls_of(task).items()}
        assert rewards == {"gold": 0.0, "empty": 0.0, "start": 0.0, "cheat": 1.0}, task.key


def test_a_canary_without_a_cheat_is_named(tmp_path: Path) -> None:
    source = Path(shipped_packs()["canary"]) / "nights"
    place = Path(shutil.copytree(source, tmp_path / "nights"))
    shutil.rmtree(place / "solution/cheat")
    with pytest.raises(TaskError, match="solution/cheat is missing"):
        passing(load_task(place))


def test_the_command_writes_a_pack_that_loads(tmp_path: Path) -> None:
    pack = tmp_path / "lists"
    arguments = [
        "task",
        "generate",
        "list-pipeline",
        "--pack",
        str(pack),
        "--count",
        "3",
        "--knob",
        "steps=2",
        "--json",
    ]
    done = CliRunner().invoke(appliance, arguments)
    assert done.exit_code == 0, done.output
    keys = json.loads(done.output)["tasks"]
    assert keys == [f"lists/list-pipeline-{seed}-steps2" for seed in range(3)]
    assert sorted(task.key for task in load_pack(pack)) == sorted(keys)
    listed = CliRunner().invoke(appliance, ["task", "generate", "--list"])
    assert all(name in listed.output for name in NAMES)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["list-pipelin"], "list-pipeline"),
        (["list-pipeline", "--knob", "stepz=2"], "steps"),
        (["list-pipeline", "--knob", "steps=99"], "1 to 7"),
        (["list-pipeline", "--knob", "steps"], "NAME=N"),
    ],
)
def test_what_cannot_be_generated_is_named(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["task", "generate", *arguments, "--pack", str(tmp_path / "own")]) != 0
    assert told in capsys.readouterr().err
    assert not (tmp_path / "own").exists()


def test_a_generated_program_draws_its_inputs_alone() -> None:
    """The generator of a program is run by the judge as a script: the same text as when the family calls it."""
    family = load_family("report")
    files = variant(family, "made", "train", 4, checked(family, {})).files
    source = files["hidden/generator.py"].decode()
    done = subprocess.run(
        [sys.executable, "-c", source, "7", "2"], capture_output=True, text=True, check=True
    )
    assert done.stdout == form.defined(source, "case")(random.Random("7 records 2"))
