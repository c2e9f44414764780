"""Evaluations: the estimators against counting, the comparison against planted changes, the verb on a tiny model."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from test_loop import PACK, appliance, recipe

from appliance import baselines
from appliance.attacks.run import PACK as ATTACKS
from appliance.recipe import load_recipe
from appliance.statistics import pass_all, pass_at, sign_test
from appliance.tasks import load_task


@pytest.mark.parametrize("n", range(1, 8))
def test_the_estimators_are_the_shares_of_all_choices(n: int) -> None:
    for c, k in itertools.product(range(n + 1), range(1, n + 1)):
        passed = [True] * c + [False] * (n - c)
        choices = list(itertools.combinations(passed, k))
        assert pass_at(n, c, k) == pytest.approx(sum(any(one) for one in choices) / len(choices))
        assert pass_all(n, c, k) == pytest.approx(sum(all(one) for one in choices) / len(choices))


def test_nothing_is_claimed_of_more_attempts_than_there_are() -> None:
    assert pass_at(3, 3, 4) is None and pass_all(3, 3, 4) is None
    (figure,) = baselines.figures({"a": tally(3, 3)}, [4])
    assert (figure.tasks, figure.pass_at, figure.pass_all) == (0, None, None)


def test_a_sign_test_is_exact() -> None:
    assert sign_test(0, 0) == sign_test(1, 0) == sign_test(4, 4) == 1.0
    assert sign_test(0, 6) == sign_test(6, 0) == 2 / 64


def tally(n: int, c: int, digest: str = "same") -> dict[str, Any]:
    return {"n": n, "c": c, "tier": "core", "task_hash": digest}


def test_a_planted_regression_is_called_one_and_noise_is_not() -> None:
    before = {f"t{i}": tally(16, 8 + i % 4) for i in range(30)}
    worse = {f"t{i}": tally(16, 5 + i % 4) for i in range(30)}
    noise = {f"t{i}": tally(16, 8 + i % 4 + (-1) ** i) for i in range(30)}
    found = baselines.compare(before, worse)
    assert found.regressed and not found.improved and found.p < 0.001
    assert len(found.worse) == 30 and not found.better
    assert baselines.compare(worse, before).improved
    same = baselines.compare(before, noise)
    assert not same.regressed and not same.improved and same.p == 1.0


def test_tasks_whose_content_changed_are_named_and_left_out() -> None:
    before = {"a": tally(4, 4), "b": tally(4, 4), "c": tally(4, 4), "d": tally(0, 0), "e": {"n": 4, "c": 1}}
    after = {
        "a": tally(4, 4),
        "b": tally(4, 0, "other"),
        "d": tally(4, 0),
        "e": {"n": 4, "c": 1},
        "f": tally(4, 4),
    }
    found = baselines.compare(before, after)
    assert found.change is not None and found.change.tasks == 1 and found.change.change == 0
    assert found.left_out == {
        "b": "another task content",
        "c": "only in the first",
        "d": "without a judged attempt",
        "e": "content unknown",
        "f": "only in the second",
    }


def test_anchoring_a_recipe_keeps_what_stands_beside_the_paths(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").touch()
    path = tmp_path / "r.toml"
    path.write_text(
        'name = "r"\n[model]\ngguf = "m.gguf"\npolicy = "run@3"\n[tasks]\npacks = ["./p"]\ndraw = "shuffled"\n'
    )
    found, _ = load_recipe(path)
    assert (found.model.policy, found.tasks.draw) == ("run@3", "shuffled")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def evaluated(home: Path, tiny_model: Path) -> dict[str, Any]:
    """An evaluation of the tiny model, as the verb prints it."""
    return evaluate(home, tiny_model)


def evaluate(home: Path, model: str | Path, *more: str) -> dict[str, Any]:
    arguments = ("--pack", PACK, "--repeats", "8", "--max-tokens", "1", "--split", "all", "--json", *more)
    done = appliance(home, "eval", model, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.jail
def test_an_evaluation_says_what_it_rests_on(evaluated: dict[str, Any]) -> None:
    tasks = evaluated["by_task"]
    assert len(tasks) == evaluated["tasks"] == 5 and all(row["n"] == 8 for row in tasks.values())
    rate = sum(row["c"] for row in tasks.values()) / 40
    assert (
        evaluated["pass_rate"] == pytest.approx(rate) == pytest.approx(evaluated["figures"][0]["pass_at_k"])
    )
    assert [row["k"] for row in evaluated["figures"]] == [1, 2, 4, 8]
    assert all(row["task_hash"] for row in tasks.values())


@pytest.mark.jail
def test_equal_seeds_give_equal_evaluations_which_compare_as_equal(
    home: Path, tiny_model: Path, evaluated: dict[str, Any]
) -> None:
    again = evaluate(home, tiny_model)
    assert again["by_task"] == evaluated["by_task"] and again["id"] != evaluated["id"]
    done = appliance(home, "eval", "--compare", evaluated["id"], again["id"], "--json")
    found = json.loads(done.stdout)
    assert found["change"]["change"] == 0 and not found["better"] and not found["worse"]
    listed = json.loads(appliance(home, "eval", "--list", "--json").stdout)["evaluations"]
    assert {evaluated["id"], again["id"]} <= {row["id"] for row in listed}


@pytest.mark.jail
def test_what_a_run_trained_is_evaluated_with_its_own_adapter(
    home: Path, tiny_model: Path, evaluated: dict[str, Any]
) -> None:
    done = appliance(home, "train", recipe(home, tiny_model, updates=3), "--json")
    run = json.loads(done.stdout)["run"]
    found = evaluate(home, run)
    assert found["policy_version"].endswith(f"+{run}.u0003")
    assert found["policy_version"] != evaluated["policy_version"]
    older = evaluate(home, f"{run}@2")
    assert older["policy_version"].endswith(f"+{run}.u0002")
    gone = appliance(home, "eval", f"{run}@1", "--pack", PACK)
    assert gone.returncode == 4 and "has kept: final" in gone.stderr


@pytest.mark.jail
def test_a_harness_that_cannot_hand_in_is_not_asked_to(home: Path, tiny_model: Path, tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    source = next(path for path in ATTACKS.glob("shell-*") if path.is_dir())
    shutil.copytree(source, pack / source.name)
    name = load_task(source).pack
    (pack / "pack.toml").write_text(f'name = "{name}"\nversion = "1.0.0"\nlicence = "Apache-2.0"\n')
    done = appliance(home, "eval", tiny_model, "--pack", pack, "--split", "all")
    assert done.returncode == 2 and "makes no attempts at tasks of the kind 'shell'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give one of MODEL"),
        (["starter"], "name what to evaluate on"),
        (["nowhere/x.gguf", "--pack", "starter"], "no such file"),
        (["some-run", "--pack", "starter"], "no run 'some-run'"),
        (["--list", "--show", "x"], "give one of MODEL"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(tmp_path: Path, arguments: list[str], told: str) -> None:
    done = appliance(tmp_path, "eval", *arguments)
    assert done.returncode in (2, 4) and told in done.stderr
    assert "Traceback" not in done.stderr
