"""A new task of every kind is sound as it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance.cli.main import run
from appliance.cli.task import check_task
from appliance.errors import NotFoundError, TaskError, UsageError
from appliance.judge import Judge
from appliance.kinds import kind_names
from appliance.paths import Paths
from appliance.pool import scaffold
from appliance.tasks import load_pack
from appliance.yard import Yard


@pytest.mark.jail
def test_a_scaffold_of_each_kind_is_judged_as_it_must_be(tmp_path: Path) -> None:
    assert scaffold.kinds() == kind_names()
    for kind in kind_names():
        scaffold.write_new(tmp_path / "mine", scaffold.scaffold(kind, f"mine/{kind}", "train", "ada"))
    tasks = load_pack(tmp_path / "mine")
    assert {task.kind for task in tasks} == set(kind_names()) and {task.author for task in tasks} == {"ada"}
    with Yard(Paths(tmp_path / "data", tmp_path / "cache"), warm=True) as yard:
        judge = Judge(yard)
        for task in tasks:
            row = check_task(judge, task)
            assert row["ok"], row


def test_the_verb_makes_the_pack_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["task", "new", "mine/first", "--kind", "function", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["task"] == "mine/first"
    assert [task.key for task in load_pack(tmp_path / "mine")] == ["mine/first"]
    assert run(["task", "new", "mine/first", "--kind", "sql"]) != 0
    assert "is there already" in capsys.readouterr().err


def test_a_name_that_ships_and_a_pack_for_a_kind_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["task", "new", "starter/first", "--kind", "function"]) == 2
    assert "pack that ships" in capsys.readouterr().err and not list(tmp_path.iterdir())
    assert run(["task", "new", "starter/first", "--kind", "function", "--pack", "starter"]) == 0
    assert run(["task", "new", "mine/first", "--kind", "repair"]) != 0
    assert "--kind function" in capsys.readouterr().err


def test_what_cannot_be_made_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="function"):
        scaffold.scaffold("functon", "mine/x", "train")
    with pytest.raises(UsageError, match="no task key"):
        scaffold.scaffold("function", "Mine", "train")
    scaffold.write_new(tmp_path, scaffold.scaffold("sql", "mine/x", "train"))
    with pytest.raises(TaskError, match="is called 'mine'"):
        scaffold.write_new(tmp_path, scaffold.scaffold("sql", "yours/x", "train"))
