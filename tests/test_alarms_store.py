"""Alarms on record: raised once, counted, silenced for a time, and tasks taken out of use."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from appliance.alarms import watch
from appliance.alarms.finding import Finding
from appliance.cli.main import appliance, run
from appliance.journal import Journal
from appliance.nouns import Task
from appliance.paths import Paths
from appliance.pool import states
from appliance.pool.index import card_of
from appliance.pool.library import Library
from appliance.store import Store
from appliance.tasks import find_task

FOUND = Finding("M11", "critical", "starter/clamp", "the gold got fail", {"seed": 7}, ("g",), "quarantine")


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Journal]:
    monkeypatch.setenv("APPLIANCE_HOME", str(tmp_path))
    paths = Paths(tmp_path / "data", tmp_path / "cache")
    with Store(paths.store, paths.objects) as store:
        yield Journal(store, "r", tmp_path, time.time)


def keep(journal: Journal, *found: Finding, step: int = 1) -> list[int]:
    cards = [card_of(find_task(key)) for key in ("starter/clamp", "starter/flatten", "starter/double")]
    return watch.keep(journal, step, iter(found), Library(cards))


def told(*arguments: str) -> tuple[int, dict[str, object]]:
    done = CliRunner().invoke(appliance, ["alarm", *arguments, "--json"])
    return done.exit_code, json.loads(done.output)


def test_an_alarm_is_raised_once_and_counted(journal: Journal) -> None:
    warn = Finding("M9", "warn", "run", "waste")
    (first,) = keep(journal, warn)
    assert keep(journal, replace(warn, level="critical"), step=2) == []
    row = journal.store.alarm(first)
    assert row is not None and (row["count"], row["level"], row["step"]) == (2, "critical", 2)
    events = [event for event in journal.store.events() if event.kind == "alarm.raised"]
    assert len(events) == 1 and events[0].data["alarm"] == first


def test_a_task_whose_gold_fails_is_quarantined_and_the_record_names_the_alarm(journal: Journal) -> None:
    task: Task = replace(find_task("starter/double"))
    (identity,) = keep(journal, replace(FOUND, subject=task.key))
    assert states.state_of(journal.store, task) == "quarantined"
    (change,) = journal.store.changes(task.key)
    assert change["alarm"] == str(identity) and change["name"] == "alarms"
    row = journal.store.alarm(identity)
    assert row is not None and row["done"] == 1
    assert task.key in states.barred_since(journal.store)


def test_an_eval_task_is_not_quarantined_by_the_program(journal: Journal) -> None:
    (identity,) = keep(journal, FOUND)
    row = journal.store.alarm(identity)
    assert row is not None and (row["action"], row["done"]) == ("quarantine", 0)
    assert find_task("starter/clamp").split == "eval" and journal.store.changes("starter/clamp") == []


def test_a_silenced_alarm_is_counted_until_its_time_is_over(journal: Journal) -> None:
    (identity,) = keep(journal, FOUND)
    code, row = told("silence", str(identity), "--reason", "known", "--until", "1h")
    assert code == 0 and row["state"] == "silenced"
    assert keep(journal, FOUND) == []
    assert told("list") == (0, {"alarms": []})
    assert told("list", "--all")[1]["alarms"][0]["count"] == 2  # type: ignore[index]
    journal.store.set_alarm(identity, until=time.time() - 1)
    assert told("list")[0] == 1
    (again,) = keep(journal, FOUND)
    assert again != identity and journal.store.alarm(identity)["state"] == "closed"  # type: ignore[index]
    kinds = [event.kind for event in journal.store.events()]
    assert kinds.count("alarm.silenced") == 1 and kinds.count("alarm.raised") == 2


def test_a_silenced_alarm_can_be_opened_again(journal: Journal) -> None:
    (identity,) = keep(journal, FOUND)
    told("silence", str(identity), "--reason", "known", "--until", "7d")
    assert told("unsilence", str(identity)) == (0, {"alarm": identity, "state": "open"})
    shown = CliRunner().invoke(appliance, ["alarm", "show", str(identity)])
    assert "gold control" not in shown.output and "M11" in shown.output and "proposed" in shown.output


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["show", "99"], "no alarm 99"),
        (["silence", "1", "--reason", " ", "--until", "7d"], "--reason is empty"),
        (["silence", "1", "--reason", "x", "--until", "soon"], "'soon' is no time"),
        (["silence", "1", "--reason", "x", "--until", "2001-01-01"], "is over"),
        (["unsilence", "1"], "alarm 1 is open"),
        (["curves", "nothing"], "no run"),
    ],
)
def test_what_cannot_be_done_is_named(
    journal: Journal, arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(journal, FOUND)
    assert run(["alarm", *arguments]) != 0
    assert named in capsys.readouterr().err
