"""What a run pins: other tasks, or another verifier, end it; the code on the disk counts, not what was loaded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from appliance import signals, values
from appliance.errors import IntegrityError
from appliance.pool.index import card_of
from appliance.pool.library import Library
from appliance.pool.pins import check_same, pins_of
from appliance.tasks import load_task
from appliance.verdicts import verifier_of

SOURCE = Path(__file__).parent / "data" / "pack_tiny" / "digit_five"


def library_of(folder: Path) -> Library:
    return Library([card_of(load_task(folder))])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SOURCE, tmp_path / SOURCE.name))


def test_what_did_not_change_passes(folder: Path) -> None:
    library = library_of(folder)
    pins = pins_of(list(library.cards.values()))
    assert pins == {task.key: [task.task_hash, verifier_of(task)] for task in library.values()}
    library.check(list(library.cards.values()))
    check_same(pins, pins)
    check_same(pins, {**pins, "tiny/new": ["a", "b"]})


@pytest.mark.parametrize("name", ["tests/cases.json", "instruction.md", "pool.toml"])
def test_a_task_that_changed_during_the_run_ends_it(folder: Path, name: str) -> None:
    library = library_of(folder)
    path = folder / name
    path.write_text(path.read_text() + " ")
    with pytest.raises(IntegrityError, match="changed"):
        library.check(list(library.cards.values()))


def test_a_link_in_a_task_that_was_loaded_is_named(folder: Path) -> None:
    library = library_of(folder)
    (folder / "tests/more.json").symlink_to("/etc/passwd")
    with pytest.raises(IntegrityError, match=r"more\.json is not a regular file"):
        library.check(list(library.cards.values()))


def test_a_task_that_is_gone_is_named(folder: Path) -> None:
    library = library_of(folder)
    shutil.rmtree(folder)
    with pytest.raises(IntegrityError, match="digit_five is gone"):
        library.check(list(library.cards.values()))


def test_a_verifier_that_changed_on_the_disk_ends_the_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the sources stands in for an upgrade while the run goes."""
    library, package = library_of(folder), tmp_path / "appliance"
    cards = list(library.cards.values())
    shutil.copytree(
        Path(values.__file__).parent, package, ignore=shutil.ignore_patterns("packs", "__pycache__")
    )
    monkeypatch.setattr(values, "__file__", str(package / "values.py"))
    library.check(cards)
    (package / "judge.py").write_text("# another\n")
    with pytest.raises(IntegrityError, match=f"what judges {cards[0].key} changed during the run"):
        library.check(cards)


def test_a_signal_that_changed_on_the_disk_ends_the_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the task asks for beyond right answers is measured by sources of its own."""
    with (folder / "pool.toml").open("a") as pool:
        pool.write('\n[quality]\nbeta = 0.2\nperformance = { role = "secondary" }\n')
    library = library_of(folder)
    cards = list(library.cards.values())
    assert json.loads(cards[0].quality)
    copy = tmp_path / "signals"
    shutil.copytree(Path(signals.__file__).parent, copy)
    monkeypatch.setattr(signals, "__file__", str(copy / "__init__.py"))
    library.check(cards)
    (copy / "another.py").write_text("# another\n")
    with pytest.raises(IntegrityError, match="what judges"):
        library.check(cards)


def test_a_library_holds_no_more_than_it_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance.pool.library.KEPT", 2)
    cards = [card_of(load_task(path.parent)) for path in sorted(SOURCE.parent.glob("*/pool.toml"))]
    library = Library(cards)
    tasks = [library[card.key] for card in cards[:3]]
    assert [task.key for task in tasks] == [card.key for card in cards[:3]]
    assert library[cards[2].key] is tasks[2] and library[cards[1].key] is tasks[1]
    assert library[cards[0].key] is not tasks[0]
    assert list(library) == [card.key for card in cards] and "tiny/none" not in library


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
