"""The packs `config` and `repo`: every task through the real judge, with its controls and its second solution."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from appliance.admission.alternatives import by_hand
from appliance.cli.task import check_task
from appliance.judge import Judge
from appliance.nouns import Task
from appliance.paths import Paths
from appliance.tasks import load_pack, shipped_packs
from appliance.yard import Yard

TASKS = [task for name in ("config", "repo") for task in load_pack(shipped_packs()[name])]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    root = tmp_path_factory.mktemp("yard")
    with Yard(Paths(root / "data", root / "cache"), warm=True) as yard:
        yield Judge(yard)


@pytest.mark.jail
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.key)
def test_a_task_accepts_right_solutions_only(judge: Judge, task: Task) -> None:
    row = check_task(judge, task)
    if "infra" in {control["status"] for control in row["controls"].values()}:
        pytest.skip(f"{task.key}: its program is not installed here")
    assert row["ok"], row
    others = by_hand(task)
    assert others
    for name, files in others.items():
        verdict = judge.judge(task, files)
        assert verdict.reward == 1.0, (name, verdict.status, verdict.evidence[:2])
