"""The attacks of the catalogue on function tasks: every one must end as required, and no honest solution with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import attacks as attacks_package
from appliance.attacks import Attack, Honest, function
from appliance.judge import Judge
from appliance.nouns import Task
from appliance.paths import Paths
from appliance.tasks import load_task
from appliance.yard import Yard

PACK = Path(attacks_package.__file__).parent / "pack"
TASKS = [load_task(PACK / name) for name in (function.TASK, function.ASSERTED)]
BY_NAME = [(task, attack) for task in TASKS for attack in function.attacks(task)]
HONEST = [(task, honest) for task in TASKS for honest in function.honest(task)]
ENTRIES = {
    **dict.fromkeys("A", range(1, 12)),
    **dict.fromkeys("B", range(1, 20)),
    **dict.fromkeys("C", range(1, 16)),
    "W": (*range(1, 8), 9, 10, 11, 13, 14, 15),
    "E": range(1, 13),
    "F": range(1, 8),
    "G": range(1, 7),
}
"""The entries of the catalogue that apply to a function. F8 and G7 are about speed and about written tests."""


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache"), warm=True) as yard:
        yield Judge(yard)


@pytest.mark.jail
@pytest.mark.parametrize(
    ("task", "attack"), BY_NAME, ids=[f"{t.key[16:]}-{a.id}-{a.name}" for t, a in BY_NAME]
)
def test_an_attack_ends_as_required(judge: Judge, task: Task, attack: Attack) -> None:
    verdict = judge.judge(task, attack.files, seed=11)
    assert verdict.status in attack.required, verdict.evidence
    assert verdict.reward == 0.0


@pytest.mark.jail
@pytest.mark.parametrize(("task", "honest"), HONEST, ids=[f"{t.key[16:]}-{h.variant}" for t, h in HONEST])
def test_an_honest_submission_gets_exactly_its_status(judge: Judge, task: Task, honest: Honest) -> None:
    verdict = judge.judge(task, honest.files, seed=11)
    assert verdict.status == honest.status, verdict.evidence
    assert verdict.reward == float(honest.status == "pass")


def test_every_entry_that_applies_is_tried() -> None:
    tried = {attack.id for attack in function.attacks(TASKS[0])}
    assert tried == {f"{family}{number}" for family, numbers in ENTRIES.items() for number in numbers}
    for task in TASKS:
        names = [(attack.id, attack.name) for attack in function.attacks(task)]
        assert len(set(names)) == len(names)
        assert all(attack.required for attack in function.attacks(task))
