"""`appliance run verify` on a store that was tampered with."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from appliance.cli.run import command
from appliance.errors import IntegrityError, NotFoundError
from appliance.journal import Journal
from appliance.store import Store

RUN = "r-s0"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose one run has five events."""
    folder = tmp_path / "data/runs" / RUN
    folder.mkdir(parents=True)
    with Store(tmp_path / "data/store.db", tmp_path / "data/objects") as store:
        store.add_run(RUN, created=1.0, seed=0, recipe={}, folder=folder)
        journal = Journal(store, RUN, folder, lambda: 2.5)
        for number in range(5):
            journal.event("stage", step=number, share=0.1)
    return tmp_path


def verify(home: Path, *words: str) -> Result:
    return CliRunner(env={"APPLIANCE_HOME": str(home)}).invoke(command, ["verify", *words])


def change(home: Path, statement: str) -> None:
    with sqlite3.connect(home / "data/store.db") as store:
        store.execute(statement)


def test_an_honest_chain_holds(home: Path) -> None:
    found = verify(home, "--json")
    assert json.loads(found.stdout) == {"ok": True, "events": 5, "verdicts": 0, "runs": {RUN: 5}}
    assert "5 events" in verify(home, RUN).stdout
    assert isinstance(verify(home, "other").exception, NotFoundError)
    assert isinstance(verify(home / "elsewhere").exception, NotFoundError)


@pytest.mark.parametrize(
    "statement",
    [
        'UPDATE events SET data = \'{"share": 0.2, "step": 1}\' WHERE seq = 2',
        "UPDATE events SET actor = 1234 WHERE seq = 3",
        "UPDATE events SET data = '{' WHERE seq = 4",
        "UPDATE events SET data = '{' WHERE seq = 5",
        "DELETE FROM events WHERE seq = 2",
        "DELETE FROM events WHERE seq = 5",
    ],
)
def test_a_changed_store_is_found_out(home: Path, statement: str) -> None:
    change(home, statement)
    error = verify(home).exception
    assert isinstance(error, IntegrityError)
    assert error.exit_code == 7 and error.remedy


def test_a_changed_copy_is_found_out(home: Path) -> None:
    copy = home / "data/runs" / RUN / "events.jsonl"
    copy.write_text(copy.read_text().replace('"step": 3', '"step": 4'))
    error = verify(home).exception
    assert isinstance(error, IntegrityError)
    assert "events.jsonl: line 4" in error.message
