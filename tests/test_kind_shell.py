"""The kind `shell` on real jails: its attacks, its honest scripts, its fixtures, and what a task may get wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from appliance.attacks import Attack, Honest
from appliance.attacks import shell as fixtures
from appliance.attacks.run import PACK
from appliance.judge import Judge
from appliance.nouns import Task
from appliance.paths import Paths
from appliance.tasks import load_task
from appliance.yard import Yard

TASKS = {name: load_task(PACK / name) for name in (fixtures.TASK, *fixtures.MORE)}
ATTACKS = [(task, attack) for task in TASKS.values() for attack in fixtures.attacks(task)]
HONEST = [(task, honest) for task in TASKS.values() for honest in fixtures.honest(task)]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache"), warm=True) as yard:
        yield Judge(yard)


@pytest.mark.jail
@pytest.mark.parametrize(("task", "attack"), ATTACKS, ids=lambda item: getattr(item, "name", ""))
def test_an_attack_is_caught(judge: Judge, task: Task, attack: Attack) -> None:
    verdict = judge.judge(task, attack.files, seed=7)
    assert verdict.status in attack.required, verdict.evidence
    assert verdict.reward == 0.0


@pytest.mark.jail
@pytest.mark.parametrize(("task", "honest"), HONEST, ids=lambda item: getattr(item, "variant", ""))
def test_an_honest_script_gets_its_own_status(judge: Judge, task: Task, honest: Honest) -> None:
    verdict = judge.judge(task, honest.files, seed=7)
    assert verdict.status == honest.status, verdict.evidence
    assert verdict.reward == float(honest.status == "pass")
