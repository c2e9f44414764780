"""What a run pins: other tasks, or another verifier, end it; the code on the disk counts, not what was loaded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from appliance import values
from appliance.errors import IntegrityError
from appliance.pool.pins import check_disk, check_same, pins_of
from appliance.tasks import load_task
from appliance.verdicts import verifier_now, verifier_of

SOURCE = Path(__file__).parent / "data" / "pack_tiny" / "digit_five"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SOURCE, tmp_path / SOURCE.name))


def test_what_did_not_change_passes(folder: Path) -> None:
    task = load_task(folder)
    pins = pins_of([task])
    check_disk(pins, [task])
    check_same(pins, pins)
    check_same(pins, {**pins, "tiny/new": ["a", "b"]})


@pytest.mark.parametrize("name", ["tests/cases.json", "instruction.md"])
def test_a_task_that_changed_during_the_run_ends_it(folder: Path, name: str) -> None:
    task = load_task(folder)
    path = folder / name
    path.write_text(path.read_text() + " ")
    with pytest.raises(IntegrityError, match="changed"):
        check_disk(pins_of([task]), [task])


def test_a_task_that_is_gone_is_named(folder: Path) -> None:
    task = load_task(folder)
    shutil.rmtree(folder)
    with pytest.raises(IntegrityError, match="digit_five is gone"):
        check_disk(pins_of([task]), [task])


def test_a_verifier_that_changed_on_the_disk_ends_the_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the sources stands in for an upgrade while the run goes."""
    task = load_task(folder)
    pins, package = pins_of([task]), tmp_path / "appliance"
    shutil.copytree(
        Path(values.__file__).parent, package, ignore=shutil.ignore_patterns("packs", "__pycache__")
    )
    monkeypatch.setattr(values, "__file__", str(package / "values.py"))
    check_disk(pins, [task])
    (package / "judge.py").write_text("# another\n")
    assert verifier_now(task) != verifier_of(task) == pins[task.key][1]
    with pytest.raises(IntegrityError, match=f"what judges {task.key} changed during the run"):
        check_disk(pins, [task])


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({"p/t": ["other", "v"]}, "tasks p/t changed"),
        ({}, "tasks p/t changed"),
        ({"p/t": ["t", "other"]}, "what judges p/t changed"),
    ],
)
def test_a_resumed_run_finds_what_it_began_with(now: dict[str, list[str]], told: str) -> None:
    with pytest.raises(IntegrityError, match=told):
        check_same({"p/t": ["t", "v"]}, now)
