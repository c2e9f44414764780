"""The attacks of the catalogue on function tasks: every one must end as required, and no honest solution with them."""

from __future__ import annotations

from pathlib import Path

from appliance import attacks as attacks_package
from appliance.attacks import function
from appliance.tasks import load_task

PACK = Path(attacks_package.__file__).parent / "pack"
TASKS = [load_task(PACK / name) for name in (function.TASK, function.ASSERTED)]
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


def test_every_entry_that_applies_is_tried() -> None:
    tried = {attack.id for attack in function.attacks(TASKS[0])}
    assert tried == {f"{family}{number}" for family, numbers in ENTRIES.items() for number in numbers}
    for task in TASKS:
        names = [(attack.id, attack.name) for attack in function.attacks(task)]
        assert len(set(names)) == len(names)
        assert all(attack.required for attack in function.attacks(task))
