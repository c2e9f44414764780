"""Several seeds taken together: known numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance.errors import UsageError
from appliance.reads import Reads
from appliance.seeds import summarise
from appliance.store import Store


def evaluation(step: int, passed: dict[str, int]) -> dict[str, object]:
    by_task = {key: {"n": 4, "c": count, "tier": "easy"} for key, count in passed.items()}
    return {
        "created": float(step),
        "pass_rate": 0.0,
        "by_task": by_task,
        "policy_version": "v",
        "seconds": 30.0,
    }


@pytest.fixture
def reads(tmp_path: Path) -> Reads:
    with Store(tmp_path / "store.db", tmp_path / "objects") as store:
        for seed, after in enumerate(({"a": 2, "b": 4}, {"a": 4, "b": 2})):
            run_id = f"r{seed}"
            store.add_run(run_id, created=float(seed), seed=seed, recipe={}, folder=tmp_path)
            store.add_evaluation(run_id, 0, evaluation(0, {"a": 0, "b": 2}))
            store.add_evaluation(run_id, 3, evaluation(3, after))
        store.add_run("short", created=9.0, seed=9, recipe={}, folder=tmp_path)
    return Reads(tmp_path / "store.db")


def test_the_mean_is_over_runs_within_a_task(reads: Reads) -> None:
    found = summarise(reads, ["r0", "r1"])
    assert [run.change.after for run in found.runs] == [0.75, 0.75]
    assert (found.mean.before, found.mean.after, found.mean.tasks) == (0.25, 0.75, 2)
    assert (found.mean.low, found.mean.high) == (0.25, 0.75)
    assert "+50.0" in found.text.splitlines()[-1]
    assert found.runs[0].seconds == 60.0


def test_runs_that_are_not_several_seeds_of_one_recipe_are_refused(reads: Reads, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="twice"):
        summarise(reads, ["r0", "r0"])
    with Store(tmp_path / "store.db", tmp_path / "objects") as store:
        recipe = {"grpo": {"updates": 3}, "seed": 4}
        store.add_run("other", created=5.0, seed=4, recipe=recipe, folder=tmp_path)
    with pytest.raises(UsageError, match="differ in grpo"):
        summarise(reads, ["r0", "other"])


def test_a_run_without_two_evaluations_is_refused(reads: Reads) -> None:
    with pytest.raises(UsageError, match="short"):
        summarise(reads, ["r0", "short"])
