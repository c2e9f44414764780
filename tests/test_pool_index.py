"""The index of a pack: the same cards as its tasks give, and refused when it does not belong to what lies there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from appliance.cli.main import appliance
from appliance.errors import TaskError
from appliance.pool import index, states
from appliance.pool.index import load_cards, write_index
from appliance.pool.library import Library
from appliance.store import Store
from appliance.tasks import load_pack, shipped_packs

DATA = Path(__file__).parent / "data"


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A pack whose tasks differ in what is measured of them."""
    folder = Path(shutil.copytree(DATA / "pack_quality", tmp_path / "pack"))
    with next(iter(sorted(folder.glob("*/pool.toml")))).open("a") as pool:
        pool.write('\n[quality]\nbeta = 0.2\nperformance = { role = "secondary" }\n')
    return folder


def test_cards_of_an_index_are_those_of_the_tasks(pack: Path) -> None:
    before = load_cards(pack)
    assert write_index(pack) == len(before) == len(load_pack(pack))
    assert load_cards(pack) == before
    assert any(card.quality for card in before) and not all(card.quality for card in before)
    library = Library(before)
    library.check(before)
    assert [task.task_hash for task in library.values()] == [card.task_hash for card in before]


@pytest.mark.parametrize("name", shipped_packs())
def test_every_shipped_pack_can_be_indexed(name: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(shipped_packs()[name], tmp_path / name))
    before = load_cards(folder)
    write_index(folder)
    assert load_cards(folder) == before


def test_a_pack_that_was_moved_keeps_its_index(pack: Path, tmp_path: Path) -> None:
    write_index(pack)
    moved = pack.rename(tmp_path / "elsewhere")
    assert {Path(card.folder).parent for card in load_cards(moved)} == {moved}


def test_no_task_is_opened_for_its_card(pack: Path) -> None:
    write_index(pack)
    for path in pack.glob("*/task.toml"):
        path.write_text("not TOML")
    cards = load_cards(pack)
    with pytest.raises(TaskError, match=r"task\.toml"):
        Library(cards)[cards[0].key]


def test_a_task_more_or_less_makes_an_index_stale(pack: Path) -> None:
    write_index(pack)
    first, second, *_ = sorted(path.parent for path in pack.glob("*/pool.toml"))
    (pack / "notes").mkdir()
    load_cards(pack)
    aside = first.rename(pack.parent / "aside")
    with pytest.raises(TaskError, match=f"lists {first.name}, which the pack does not hold") as told:
        load_cards(pack)
    assert told.value.remedy == f"appliance task index {pack}"
    aside.rename(first)
    shutil.copytree(second, pack / "twin")
    with pytest.raises(TaskError, match="does not list twin"):
        load_cards(pack)


def _another_pack(pack: Path) -> None:
    path = pack / "pack.toml"
    path.write_text(path.read_text() + "\n# changed\n")


def _another_card(pack: Path) -> None:
    path = pack / index.FILE
    path.write_text(path.read_text().replace('"train"', '"eval"', 1))


def _cut(pack: Path) -> None:
    path = pack / index.FILE
    path.write_bytes(path.read_bytes()[:-1])


def _another_format(pack: Path) -> None:
    path = pack / index.FILE
    path.write_text(path.read_text().replace('"format": 1', '"format": 2', 1))


def _list(pack: Path) -> None:
    (pack / index.FILE).write_text("[]\n")


def _empty(pack: Path) -> None:
    (pack / index.FILE).write_text("")


@pytest.mark.parametrize("change", [_another_pack, _another_card, _cut, _another_format, _list, _empty])
def test_an_index_that_does_not_hold_is_refused(pack: Path, change: object) -> None:
    write_index(pack)
    assert callable(change)
    change(pack)
    with pytest.raises(TaskError, match=r"index\.jsonl is (damaged|older)") as told:
        load_cards(pack)
    assert "task index" in told.value.remedy
    write_index(pack)
    assert load_cards(pack)


def test_a_pack_that_does_not_hold_gets_no_index(pack: Path) -> None:
    write_index(pack)
    before = (pack / index.FILE).read_bytes()
    next(pack.glob("*/instruction.md")).write_text("")
    with pytest.raises(TaskError, match=r"instruction\.md is empty"):
        write_index(pack)
    assert (pack / index.FILE).read_bytes() == before
    assert not list(pack.glob(".index*"))


def test_the_states_of_cards_are_those_of_their_tasks(pack: Path, tmp_path: Path) -> None:
    cards, tasks = load_cards(pack), load_pack(pack)
    with Store(tmp_path / "store.db", tmp_path / "objects") as store:
        states.set_state(store, tasks[0], "quarantined", actor=1, name="Ada", reason="odd", now=1.0)
        assert states.states_of(store, cards) == states.states_of(store, tasks)
        assert [card.key for card in states.unbarred(store, cards)] == [task.key for task in tasks[1:]]


def test_the_command_says_what_it_did_and_what_is_wrong(pack: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(appliance, ["task", "index", str(pack), "--json"])
    assert json.loads(done.stdout) == {"index": str(pack / index.FILE), "tasks": len(load_pack(pack))}
    listed = CliRunner().invoke(appliance, ["task", "list", "--pack", str(pack), "--json"])
    assert [row["key"] for row in json.loads(listed.stdout)["tasks"]] == [
        card.key for card in load_cards(pack)
    ]
    with pytest.raises(TaskError, match=r"pack\.toml is missing"):
        CliRunner().invoke(appliance, ["task", "index", str(tmp_path)], catch_exceptions=False)
