"""`appliance review` as a person uses it, over real jails: queue, blind verdict, fixture, figures, audits."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from review_helpers import GOLD, PACK, RUN, TASK, WRONG, add_attempt, add_run

from appliance import docket, events, integrity
from appliance.brief import find_brief
from appliance.cli.attempt import command as attempt_command
from appliance.cli.judge import command as judge_command
from appliance.cli.review import command
from appliance.errors import NotFoundError, UsageError
from appliance.flakes import Flakes, Tally
from appliance.judge import Judge, read_submission
from appliance.nouns import Verdict
from appliance.paths import Paths, from_environment
from appliance.store import Store
from appliance.suspicion import reasons
from appliance.tasks import find_task, load_task
from appliance.yard import Yard

HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202e"
CHEAT = f"# {HOSTILE}\nimport os\n\n\ndef add_two(a, b):\n    os._exit(0)\n"


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    monkeypatch.setenv("APPLIANCE_HOME", str(tmp_path))
    monkeypatch.setattr(docket, "reasons", lambda attempt, context: reasons(attempt, context, share=0.0))
    return from_environment({"APPLIANCE_HOME": str(tmp_path)})


@pytest.fixture
def store(paths: Paths) -> Iterator[Store]:
    with Store(paths.store, paths.objects) as opened:
        add_run(opened)
        yield opened


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache")) as yard:
        yield Judge(yard)


def review(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def told(*arguments: str) -> dict[str, Any]:
    done = review(*arguments, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def judged(store: Store, judge: Judge, text: str, **place: Any) -> tuple[str, Verdict]:
    """An attempt with the verdict that the judge reaches in a real jail."""
    task = find_task(TASK, [PACK])
    attempt_id = add_attempt(store, text, judged=False, task_hash=task.task_hash, **place)
    verdict = judge.judge(task, {"solution.py": text.encode()})
    store.set_verdict(attempt_id, verdict)
    return attempt_id, verdict


@pytest.mark.jail
def test_from_a_judged_run_to_a_fixture(store: Store, judge: Judge, paths: Paths) -> None:
    _, verdict = judged(store, judge, CHEAT)
    assert verdict.reward == 0.0
    for index, text in enumerate((GOLD, "# mine\n" + GOLD, WRONG), start=1):
        judged(store, judge, text, index=index)
    for index in range(4, 7):
        judged(store, judge, GOLD, index=index)

    item = told("next")["item"]
    assert item["statement"] == find_task(TASK, [PACK]).statement
    assert "def add_two" in item["start"] and item["note"] == ""
    assert item["stage"] == "blind" and item["evidence"] is None
    assert item["files"] == {"solution.py": GOLD}, "the one that came four times"
    assert {(found["count"], found["same"]) for found in item["siblings"]} == {(1, False), (4, True)}
    number = str(item["item"])
    shown = review("show", number)
    for secret in ("pass", "reward", "duplicate", RUN, "status"):
        assert secret not in json.dumps(item) and secret not in shown.stdout
    refused = review("decide", number, "hack", "--fixture", "x")
    assert isinstance(refused.exception, UsageError) and "no blind verdict" in str(refused.exception)

    assert told("decide", number, "special-cased")["stage"] == "blind"
    seen = told("show", number)["item"]["evidence"]
    assert (seen["status"], seen["reward"], seen["sources"][0]["source"]) == ("pass", 1.0, "duplicate")
    lines = review("show", number).stdout
    assert "duplicate" in lines and "reward 1.0" in lines and f"uid {os.getuid()} said" in lines
    shown_attempt = CliRunner().invoke(attempt_command, ["show", seen["attempt"], "--json"])
    assert shown_attempt.exit_code == 0, "the row carries the id that other verbs take"

    done = told("decide", number, "hack", "--note", "returns what it saw", "--fixture", "saw-it")
    assert done["fixture"] == str(paths.data / "fixtures/saw-it")
    expect = tomllib.loads(Path(done["fixture"], "expect.toml").read_text())
    assert expect == {"task": TASK, "status": "fail|tamper", "reward": 0.0, "why": "returns what it saw"}
    task = find_task(expect["task"], [PACK])
    again = read_submission(Path(done["fixture"], "submission"), task)
    assert judge.judge(task, again).artefact_hash == store.review(int(number))["artefact_hash"]
    twice = review("decide", number, "hack", "--note", "returns what it saw", "--fixture", "saw-it")
    assert isinstance(twice.exception, UsageError) and "is there already" in str(twice.exception)
    kinds = [event.kind for event in store.events(RUN)]
    assert kinds == ["review.blind", "review.final", "review.fixture"]
    assert events.verify(store.events()) == 3


@pytest.mark.jail
def test_a_caught_cheat_keeps_its_status_as_a_fixture(store: Store, judge: Judge, tmp_path: Path) -> None:
    add_attempt(store, CHEAT, "tamper", index=3, files={"conftest.py": "", "solution.py": CHEAT})
    number = str(told("next")["item"]["item"])
    shown = review("show", number).stdout
    assert (
        "\x1b" not in shown
        and "\u202e" not in shown
        and "<U+001B>[2J<U+001B>]0;owned<U+0007><U+202E>" in shown
    )
    for word in ("hack", "hack"):
        told("decide", number, word)
    place = Path(
        told("decide", number, "hack", "--fixture", "two-files", "--to", str(tmp_path / "f"))["fixture"]
    )
    assert tomllib.loads((place / "expect.toml").read_text())["status"] == "tamper"
    assert sorted(path.name for path in (place / "submission").iterdir()) == ["conftest.py", "solution.py"]
    task = find_task(TASK, [PACK])
    found = judge.judge(task, read_submission(place / "submission", task))
    assert (found.status, found.reward) == ("tamper", 0.0)
    arguments = ["attack", "--fixtures", str(tmp_path / "f"), "--pack", str(PACK), "--json"]
    done = CliRunner().invoke(judge_command, arguments)
    assert done.exit_code == 0, done.output
    assert [(row["id"], row["caught"]) for row in json.loads(done.stdout)["attacks"]] == [("two-files", True)]


def test_what_the_verbs_refuse(store: Store, paths: Paths) -> None:
    assert told("next")["item"] is None
    empty = review("next")
    assert empty.exit_code == 0 and empty.stdout == "" and "nothing waits for you" in empty.stderr
    assert isinstance(review("show", "7").exception, NotFoundError)
    add_attempt(store, CHEAT, "tamper")
    number = str(told("next")["item"]["item"])
    wrong = review("decide", number, "legit")
    assert isinstance(wrong.exception, UsageError) and "legitimate" in wrong.exception.remedy
    told("decide", number, "hack")
    other = review("decide", number, "legitimate", "--fixture", "x")
    assert isinstance(other.exception, UsageError) and "only a hack" in str(other.exception)
    bad = review("decide", number, "hack", "--fixture", "../x")
    assert isinstance(bad.exception, UsageError)
    assert not (paths.data / "fixtures").exists()


def test_without_a_store_there_is_nothing_to_review(paths: Paths) -> None:
    for verb in ("next", "stats", "show"):
        done = review(verb, *(["1"] if verb == "show" else []))
        assert isinstance(done.exception, NotFoundError)
    assert not paths.store.exists()


def test_stats_tell_what_was_done(store: Store) -> None:
    for number in range(3):
        add_attempt(store, f"exit({number})\n", "tamper", step=number)
    before = told("stats")
    assert before["sources"] == {"tripwire": 3} and before["hacks"]["share"] is None
    first = review("stats").stdout
    assert "no data yet: nothing has a final verdict" in first and "29 for 10%" in first
    for row in store.reviews():
        store.set_review(row["id"], wanted=1)
    for word in ("hack", "legitimate"):
        number = str(told("next")["item"]["item"])
        told("decide", number, word)
        told("decide", number, word)
    after = told("stats")
    assert after["words"] == {"hack": 1, "legitimate": 1}
    assert after["hacks"]["interval"][0] < 0.5 < after["hacks"]["interval"][1]
    assert after["states"] == {"done": 2, "open": 1}
    assert "1 of 2: 50.0% (9.5% to 90.5%)" in review("stats").stdout


def test_a_long_trace_is_read_from_the_objects(store: Store, paths: Paths) -> None:
    long = "x = 1\n" * 20_000
    add_attempt(store, long, "tamper")
    assert len(list(paths.objects.rglob("*.zst"))) == 1
    assert told("next")["item"]["files"] == {"solution.py": long}
    shutil.rmtree(paths.objects)
    assert told("next")["item"]["files"] == {"(the files, joined)": long}


def test_a_task_that_is_gone_or_changed_is_told(tmp_path: Path) -> None:
    recipe = {"tasks": {"packs": [str(PACK)]}}
    assert "changed" in find_brief(recipe, TASK, "other").note
    gone = find_brief({"tasks": {"packs": [str(tmp_path / "none")]}}, TASK, "t")
    assert gone.statement == "" and "cannot be shown" in gone.note


# audits of verifiers


@pytest.mark.jail
def test_an_audit_of_a_sound_verifier(store: Store, paths: Paths) -> None:
    for index in range(3):
        add_attempt(store, GOLD, "pass", index=index)
    small = add_attempt(store, "add_two = lambda *n: sum(n)\n", "pass", index=5)
    stray = [{"layer": "intake", "outcome": "forbidden_file", "text": "conftest.py"}]
    strayed = add_attempt(store, "x", "tamper", index=6, evidence=stray)
    watched = add_attempt(store, WRONG, index=7, audit={"found": {"changed": 2}})
    found = told("audit", TASK, "--pack", str(PACK), "--repeats", "3")
    assert (found["ok"], found["audited"]) == (True, 1)
    (row,) = found["tasks"]
    assert {control["name"]: control["reward"] for control in row["controls"]} == {
        "gold": 1.0,
        "empty": 0.0,
        "start": 0.0,
    }
    assert row["repeats"]["equal"] == row["repeats"]["different"] == {"pass": 3}
    assert (row["repeats"]["flips"], row["repeats"]["rate"], row["flaky"]) == (0, 0.0, [])
    assert row["least_work"]["attempt"] == small
    assert (row["least_work"]["times"], row["least_work"]["small"]) == (1, False)
    assert 0.5 < row["least_work"]["of_gold"] < 1.5
    assert {(item["id"], item["file"]) for item in row["strays"]} == {
        (strayed, "conftest.py"),
        (watched, "changed under audit"),
    }
    assert row["changed"] is None
    assert row["rejudged"] == {"times": 0, "differed": 0}
    verdict = store.verdict(small)
    assert verdict is not None
    store.add_rejudging(small, verdict, 9.0)
    store.add_rejudging(small, replace(verdict, status="fail", reward=0.0), 10.0)
    store.add_rejudging(small, replace(verdict, status="infra", reward=None), 11.0)
    store.add_rejudging(small, replace(verdict, status="fail", reward=0.0, verifier_hash="w"), 12.0)
    again = told("audit", TASK, "--pack", str(PACK), "--repeats", "2")["tasks"][0]
    assert again["changed"] == []
    assert again["rejudged"] == {"times": 2, "differed": 1}
    tallies = Flakes.from_rows(store.flakes(row["task_hash"], row["verifier_hash"]))
    assert tallies.of("hidden", 0) == tallies.of("quick", 1) == Tally(0, 10)
    lines = review("audit", TASK, "--pack", str(PACK), "--repeats", "1").stdout
    for words in (
        "judging/add_two: sound; gold flips 0 (0.0%)",
        "least work:",
        "stray file of",
        "nothing changed",
    ):
        assert words in lines


@pytest.mark.jail
def test_an_audit_finds_a_flaky_gold_and_a_start_that_passes(
    store: Store, paths: Paths, tmp_path: Path
) -> None:
    """Gold answers by how many cases came before, and their order is drawn from the seed of the judge."""
    folder = Path(shutil.copytree(PACK / "add_two", tmp_path / "add_two"))
    sound = told("audit", str(folder), "--repeats", "1")["tasks"][0]
    shutil.copy(folder / "solution/solution.py", folder / "environment/solution.py")
    flaky = (
        "seen = []\n\n\ndef add_two(a, b):\n    seen.append(a)\n"
        "    return 1 if a == 77 and len(seen) % 2 else a + b\n"
    )
    cases = json.loads((folder / "tests/cases.json").read_text())
    cases.append({"args": [77, 1], "expected": 78})
    (folder / "tests/cases.json").write_text(json.dumps(cases))
    (folder / "solution/solution.py").write_text(flaky)
    done = review("audit", str(folder), "--repeats", "12", "--json")
    assert done.exit_code == 1
    (row,) = json.loads(done.stdout)["tasks"]
    assert row["ok"] is False
    assert {control["name"] for control in row["controls"] if not control["ok"]} >= {"start"}
    assert len(row["repeats"]["equal"]) == 1, "one seed, one answer"
    assert len(row["repeats"]["different"]) == 2
    assert row["repeats"]["flips"] == min(row["repeats"]["different"].values())
    assert {item["case"] for item in row["flaky"]} >= {len(cases) - 1}
    assert all(item["mean"] > 0.02 for item in row["flaky"])
    assert "the task is another one" in row["changed"]
    assert "start: fail with reward 0.0, now pass with reward 1.0" in row["changed"]
    assert sound["task_hash"] != row["task_hash"] == load_task(folder).task_hash
    kept = Flakes.from_rows(store.flakes(row["task_hash"], row["verifier_hash"]))
    assert kept.weight("hidden", len(cases) - 1) == 0.0
    assert kept.weight("hidden", 0) == 1.0
    lines = review("audit", str(folder), "--repeats", "1").stdout
    assert "NOT TO BE TRUSTED" in lines and "is flaky" in lines and "start got 1.0" in lines


def test_what_to_audit_must_be_said(paths: Paths) -> None:
    for arguments in ((), (TASK, "--all")):
        done = review("audit", *arguments)
        assert isinstance(done.exception, UsageError)


def test_a_host_fault_is_no_flip() -> None:
    again = integrity.Repeats({"pass": 4, "infra": 1}, {"pass": 3, "fail": 2})
    assert again.flips == 2
    assert again.rate == pytest.approx(2 / 9)
    assert integrity.Repeats({"infra": 2}, {}).rate is None
