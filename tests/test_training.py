"""What a plan refuses before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance import checkpoints
from appliance.errors import ConfigError, IntegrityError
from appliance.nouns import Card
from appliance.plan import Plan, check_plan
from appliance.recipe import load_recipe


def plan(train: int, held_out: int) -> Plan:
    recipe, _ = load_recipe(Path(__file__).parents[1] / "recipes" / "starter.toml")
    tasks = [Card(f"p/t{n}", "function", "train", "easy", "c", "c", "/", "", "h", "") for n in range(train)]
    held = tuple(tasks[0]._replace(key=f"p/e{n}", split="eval") for n in range(held_out))
    return Plan("r", recipe, Path("/nowhere"), "base", tuple(tasks), held)


def test_a_plan_needs_enough_train_tasks_and_some_eval_tasks() -> None:
    wanted = plan(0, 0).recipe.grpo.tasks_per_update
    check_plan(plan(wanted, 1))
    with pytest.raises(ConfigError, match=f"hold {wanted - 1} train tasks"):
        check_plan(plan(wanted - 1, 1))
    with pytest.raises(ConfigError, match="no task of the split 'eval'"):
        check_plan(plan(wanted, 0))


def test_policy_versions_name_the_run_and_the_update() -> None:
    versions = [plan(8, 1).version(step) for step in range(3)]
    assert versions[0] == "base"
    assert len(set(versions)) == 3


class Scribe:
    """Writes what a learner would: here only that it was asked to."""

    def save(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "weights").write_text("w")


def test_checkpoints_are_complete_or_absent_and_pruned(tmp_path: Path) -> None:
    assert checkpoints.newest(tmp_path) is None
    for step in range(1, 5):
        checkpoints.save(tmp_path, step, f"v{step}", Scribe())
    (tmp_path / "checkpoints" / ".u0005").mkdir()
    found = checkpoints.newest(tmp_path)
    assert found is not None and (found.step, found.policy_version) == (4, "v4")
    assert sorted(path.name for path in (tmp_path / "checkpoints").glob("u*")) == ["u0003", "u0004"]


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    folder = checkpoints.save(tmp_path, 1, "v1", Scribe())
    (folder / "state.json").write_text("{")
    with pytest.raises(IntegrityError, match=r"state\.json"):
        checkpoints.newest(tmp_path)
