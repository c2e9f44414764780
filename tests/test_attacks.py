"""The matrix of attacks: each is caught, no honest submission is taken for one, and fixtures are what is generated."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from appliance.attacks import Attack, Honest
from appliance.attacks import run as running
from appliance.cli.judge import command
from appliance.errors import NotFoundError, TaskError, UsageError
from appliance.judge import Judge
from appliance.paths import Paths
from appliance.yard import Yard

FIXTURES = Path(__file__).parent / "attacks"


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache"), warm=True) as yard:
        yield Judge(yard)


@pytest.mark.jail
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", running.kinds())
def test_every_attack_on_a_kind_is_caught_and_nobody_else_is(judge: Judge, kind: str) -> None:
    found = running.judged(judge, list(running.shipped(kind)), os.cpu_count() or 1, seed=7)
    assert [one.to_json() | {"evidence": one.verdict.evidence} for one in found if not one.right] == []
    honest = [one.verdict for one in found if isinstance(one.what, Honest)]
    assert {"pass", "fail"} <= {verdict.status for verdict in honest}
    assert {verdict.reward for verdict in honest if verdict.status == "pass"} == {1.0}


def test_every_kind_has_attacks_of_the_catalogue_and_honest_submissions() -> None:
    assert running.uncovered() == ()
    for kind in running.kinds():
        made = [what for _, what in running.shipped(kind)]
        attacks = [what for what in made if isinstance(what, Attack)]
        honest = [what for what in made if isinstance(what, Honest)]
        assert len(attacks) >= 10, kind
        assert all(re.fullmatch(r"[A-Z][0-9]{1,2}", what.id) for what in attacks), kind
        names = Counter((task.key, running.folder_name(what)) for task, what in running.shipped(kind))
        assert [name for name, count in names.items() if count > 1] == [], kind
        assert {"gold", "empty"} <= {what.variant for what in honest}, kind
        assert Counter(what.status for what in honest)["pass"] >= 2, kind
        assert Counter(what.status for what in honest)["fail"] >= 3, kind
        assert not any(what.status == "tamper" for what in honest), kind


def test_the_fixtures_are_what_the_generator_writes(tmp_path: Path) -> None:
    """After a change: appliance judge attack --write tests/attacks, into an emptied folder."""
    running.write(tmp_path / "fresh")
    assert tree(FIXTURES) == tree(tmp_path / "fresh")


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.mark.jail
def test_fixtures_read_back_as_they_were_written_and_a_wrong_verdict_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "fixtures"
    running.write(folder)
    back = [what for _, what in running.read(folder, [running.PACK])]
    made = [what for kind in running.kinds() for _, what in running.shipped(kind)]
    assert sorted(map(_content, back)) == sorted(map(_content, made))
    with pytest.raises(UsageError, match="is there already"):
        running.write(folder)
    chosen = tmp_path / "chosen"
    chosen.mkdir()
    (folder / "function/function-describe/honest-gold").rename(chosen / "stolen")
    expect = chosen / "stolen/expect.toml"
    expect.write_text(expect.read_text().replace('"pass"', '"tamper"') + "reward = 0.0\n")
    runner = CliRunner(env={"APPLIANCE_HOME": str(tmp_path / "home")})
    told = runner.invoke(command, ["attack", "--fixtures", str(chosen), "--json"])
    assert told.exit_code == 1
    (row,) = json.loads(told.stdout)["attacks"]
    assert (row["seen"], row["reward"], row["caught"], row["required"]) == ("pass", 1.0, False, ["tamper"])
    lines = runner.invoke(command, ["attack", "--fixtures", str(chosen)]).stdout
    assert "WRONG function stolen" in lines and "0 of 1 attacks caught" in lines
    expect.write_text("status = 3\n")
    with pytest.raises(TaskError, match=r"expect\.toml"):
        list(running.read(chosen, [running.PACK]))
    with pytest.raises(NotFoundError):
        list(running.read(tmp_path / "home", [running.PACK]))


def _content(what: Attack | Honest) -> tuple[tuple[tuple[str, bytes], ...], tuple[str, ...]]:
    statuses = what.required if isinstance(what, Attack) else (what.status,)
    return tuple(sorted(what.files.items())), tuple(statuses)


def test_names_that_no_folder_can_hold_are_kept(tmp_path: Path) -> None:
    odd = {"../escape": b"\x00\xff", "a\x1bb": b"", "ordinary.py": b"x"}
    running.write_files(tmp_path, odd)
    assert not (tmp_path / "submission").exists()
    assert running.read_files(tmp_path) == odd


@pytest.mark.jail
def test_an_attack_that_earns_or_is_called_otherwise_is_not_caught(judge: Judge) -> None:
    task, gold = next((task, what) for task, what in running.shipped("function") if _is_gold(what))
    theft = Attack("W3", "theft", gold.files, ("fail", "tamper"))
    slander = replace(gold, status="tamper")
    assert isinstance(slander, Honest)
    assert [
        one.right for one in running.judged(judge, [(task, theft), (task, slander), (task, gold)], 2)
    ] == [
        False,
        False,
        True,
    ]
    with pytest.raises(NotFoundError, match="function"):
        list(running.shipped("functoin"))


def _is_gold(what: Attack | Honest) -> bool:
    return isinstance(what, Honest) and what.variant == "gold"
