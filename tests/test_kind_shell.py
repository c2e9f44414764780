"""The kind `shell` on real jails: its attacks, its honest scripts, its fixtures, and what a task may get wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jail_helpers import remote
from kind_tasks import Counting, made_task, write_task

from appliance.attacks import shell as fixtures
from appliance.attacks.run import PACK
from appliance.errors import TaskError
from appliance.judge import Judge
from appliance.kinds import shell
from appliance.kinds.shell_trees import first_difference, read_tree, split_arguments
from appliance.paths import Paths
from appliance.sandbox.client import Entry
from appliance.sandbox.witness import Witness
from appliance.tasks import load_task
from appliance.yard import Yard

TASKS = {name: load_task(PACK / name) for name in (fixtures.TASK, *fixtures.MORE)}


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache"), warm=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def judge(yard: Yard) -> Judge:
    return Judge(yard)


UPPER = 'for f in *; do mv -- "$f" "$f.old"; done\n'
EXAMPLE: dict[str, Any] = {
    "fixture": [{"path": "a", "text": "1"}],
    "expected": [{"path": "a.old", "text": "1"}],
}
FILES = {
    "environment/solution.sh": "#!/bin/sh\n",
    "solution/solution.sh": UPPER,
    "public/examples.json": json.dumps([EXAMPLE]),
    "hidden/generator.py": "import sys\nopen(f'name {int(sys.argv[1]) % 10**6}', 'w').write('text')\n",
}
TABLE = "generated = 2"


def script(text: str) -> dict[str, bytes]:
    return {"solution.sh": text.encode()}


def tree(**bodies: str) -> dict[str, Entry]:
    return {path: Entry(path, "file", 0o644, body.encode()) for path, body in bodies.items()}


def test_every_difference_has_a_word_and_tells_no_wanted_path() -> None:
    wanted, before = tree(a="1", b="2"), tree(a="1", c="3")
    assert first_difference(wanted, tree(a="1", b="2"), before, "exact") is None
    assert first_difference(wanted, tree(a="1"), before, "exact") == ("missing", "")
    assert first_difference(wanted, tree(b="2"), before, "exact") == ("destroyed", "a")
    assert first_difference(wanted, tree(a="1", b="2", c="3"), before, "exact") == ("extra", "c")
    assert first_difference(wanted, tree(a="1", b="3"), before, "exact") == ("other_contents", "b")
    folder, link = {"a": Entry("a", "folder", 0o755)}, {"a": Entry("a", "link", 0o777, b"1")}
    assert first_difference(tree(a="1"), folder, before, "exact") == ("other_kind", "a")
    assert first_difference(tree(a="1"), link, before, "exact") == ("other_kind", "a")
    elsewhere = {"a": Entry("a", "link", 0o777, b"2")}
    assert first_difference(link, elsewhere, before, "exact") == ("other_target", "a")


@pytest.mark.parametrize(
    ("mode", "modes", "word"),
    [
        (0o644, "exact", None),
        (0o600, "exact", "other_mode"),
        (0o600, "executable", None),
        (0o744, "executable", "other_mode"),
        (0o777, "ignore", None),
        (0o4644, "exact", "other_mode"),
    ],
)
def test_permissions_count_as_the_task_says(mode: int, modes: str, word: str | None) -> None:
    found = first_difference(tree(a="1"), {"a": Entry("a", "file", mode, b"1")}, {}, modes)
    assert (found and found[0]) == word


def test_a_tree_is_read_whole() -> None:
    rows = [
        {"path": "a/b\nc", "text": "", "mode": "600"},
        {"path": "link", "link": "../x"},
        {"path": "bytes", "base64": "AP8="},
        {"path": "folder", "mode": "700"},
    ]
    found = read_tree("here", rows)
    assert found.pop(".").kind == "folder"
    assert found == {
        "a": Entry("a", "folder", 0o755),
        "a/b\nc": Entry("a/b\nc", "file", 0o600, b""),
        "link": Entry("link", "link", 0o777, b"../x"),
        "bytes": Entry("bytes", "file", 0o644, b"\0\xff"),
        "folder": Entry("folder", "folder", 0o700),
    }


def test_arguments_are_separated_by_nuls() -> None:
    assert split_arguments(b"") == []
    assert split_arguments(b"\0") == [""]
    assert split_arguments(b"a b\0\n\0") == ["a b", "\n"]
    assert split_arguments(b"a\0b") == ["a", "b"]


def row(**fields: Any) -> list[dict[str, Any]]:
    return [{**EXAMPLE, **fields}]


def examples(*fixture: dict[str, str]) -> dict[str, str | None]:
    return {"public/examples.json": json.dumps(row(fixture=list(fixture)))}


BROKEN: tuple[tuple[str, Mapping[str, str | None], str], ...] = (
    ("", {}, "field 'generated' is missing"),
    ("generated = 0", {}, "is not above 0"),
    ('generated = 1\nmodes = "all"', {}, "'all' is not allowed"),
    (TABLE, {"hidden/generator.py": None}, "hidden/generator.py is missing"),
    (TABLE, {"hidden/generator.py": "\n"}, "generator.py is empty"),
    (TABLE, {"solution/solution.sh": " "}, "solution.sh is empty"),
    (TABLE, {"public/examples.json": "[]"}, "not a list of cases, or an empty one"),
    (TABLE, {"public/examples.json": "{"}, "examples.json"),
    (TABLE, {"public/examples.json": json.dumps([1])}, "case 0: not an object"),
    (TABLE, {"tests/cases.json": json.dumps(row(fixtures=[]))}, "unknown key 'fixtures'"),
    (TABLE, {"public/examples.json": json.dumps(row(arguments=[1]))}, "something else than short texts"),
    (TABLE, examples({"path": "../x"}), "not a plain relative one"),
    (TABLE, {"public/examples.json": json.dumps(row(arguments=["x" * 70_000]))}, "something else than short texts"),
    (TABLE, {"public/examples.json": json.dumps(row(stdin="\ud800"))}, "case 0: "),
    (TABLE, examples({"path": "x" * 300}), "not a plain relative one"),
    (TABLE, examples({"path": "a/" * 70 + "a"}), "not a plain relative one"),
    (TABLE, examples({"path": "/x"}), "not a plain relative one"),
    (TABLE, examples({"path": "x", "text": "", "link": "y"}), "more than one"),
    (TABLE, examples({"path": "x", "mode": "9"}), "is not a mode"),
    (TABLE, examples({"path": "x"}, {"path": "x"}), "is there twice"),
    (TABLE, examples({"path": "x", "base64": "!"}), "field 'base64'"),
    (TABLE, examples({"path": "x", "text": ""}, {"path": "x/y"}), "is no folder"),
)  # fmt: skip


@pytest.mark.parametrize(("table", "changes", "message"), BROKEN, ids=[item[2][:30] for item in BROKEN])
def test_a_task_that_cannot_be_judged_is_refused(
    tmp_path: Path, table: str, changes: Mapping[str, str | None], message: str
) -> None:
    files = {name: text for name, text in {**FILES, **changes}.items() if text is not None}
    with pytest.raises(TaskError) as caught:
        load_task(write_task(tmp_path, "shell", table, files))
    assert message in caught.value.message
    assert caught.value.remedy


@pytest.mark.jail
@pytest.mark.parametrize("folder", sorted(TASKS))
def test_controls_get_their_rewards(judge: Judge, folder: str) -> None:
    for name, (artefacts, reward) in shell.controls(TASKS[folder]).items():
        assert judge.judge(TASKS[folder], artefacts).reward == reward, name


@pytest.mark.jail
def test_fixtures_follow_the_seed_and_are_made_once(yard: Yard, tmp_path: Path) -> None:
    task = made_task(tmp_path, "shell", TABLE, FILES)
    public_only = script("[ -e a ] && mv a a.old\n")
    jails = Counting(yard.of(task))
    first = shell.examine(task, public_only, jails, 1)
    assert (first.public_total, first.hidden_total, first.hidden_passed) == (1, 2, 0)
    assert [outcome.outcome for outcome in first.outcomes] == ["correct", "extra", "extra"]
    before = jails.sessions
    assert shell.examine(task, public_only, jails, 1).outcomes == first.outcomes
    assert jails.sessions - before == 3, "one session for each case, and none for generator or gold"
    assert shell.examine(task, public_only, jails, 2).outcomes != first.outcomes


@pytest.mark.jail
def test_one_submission_has_one_verdict(judge: Judge) -> None:
    """Many at once, which also share what is drawn for their seed."""
    task = TASKS["shell-logs"]
    wrong = script('for f in *.log; do rm -f -- "$f"; done\nmkdir -p archive\n')
    gold = script((Path(task.folder) / "solution/solution.sh").read_text())
    with ThreadPoolExecutor(4) as pool:
        verdicts = list(pool.map(lambda files: judge.judge(task, files, seed=11), [gold, wrong] * 8))
    told = {(verdict.status, verdict.reward, str(verdict.evidence)) for verdict in verdicts}
    assert len(told) == 2
    assert {verdict.status for verdict in verdicts[::2]} == {"pass"}


@pytest.mark.jail
def test_written_hidden_cases_come_before_the_generated_ones(judge: Judge, tmp_path: Path) -> None:
    """And what they want is nowhere in a verdict."""
    case = {"fixture": [{"path": "b", "text": "2"}], "expected": [{"path": "the-hidden-marker", "text": "2"}]}
    task = made_task(tmp_path, "shell", TABLE, {**FILES, "tests/cases.json": json.dumps([case])})
    assert shell.totals(task) == (1, 3)
    verdict = judge.judge(task, script(UPPER))
    assert verdict.status == "fail"
    assert verdict.signals["hidden_share"].raw == 2.0
    assert verdict.evidence == ({"layer": "hidden", "case": 0, "outcome": "extra", "got": "b.old"},)
    nothing = judge.judge(task, script("mv a a.old; rm -f b\n"))
    assert nothing.evidence[0]["outcome"] == "missing"
    assert "the-hidden-marker" not in json.dumps([verdict.to_json(), nothing.to_json()])


@pytest.mark.jail
@pytest.mark.parametrize(
    ("name", "text", "outcome"),
    [
        ("hidden/generator.py", "raise SystemExit(1)", "generator"),
        ("hidden/generator.py", "while True: pass", "generator"),
        ("hidden/generator.py", "import os\nos.rmdir('../tree')", "generator"),
        ("hidden/generator.py", "import os\nopen('x', 'w').close()\nos.chmod('x', 0)", "fixture"),
        ("solution/solution.sh", "exit 3", "gold"),
        ("solution/solution.sh", "cd ..; mv tree elsewhere; ln -s elsewhere tree", "gold"),
        ("solution/solution.sh", ":", "generator"),
    ],
)
def test_what_the_author_broke_is_not_held_against_a_candidate(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, outcome: str
) -> None:
    monkeypatch.setattr(shell, "AUTHOR_LIMITS", replace(shell.AUTHOR_LIMITS, cpu_s=0.3))
    task = made_task(tmp_path, "shell", TABLE, {**FILES, name: text})
    verdict = judge.judge(task, script(UPPER))
    assert (verdict.status, verdict.reward) == ("task_broken", None), verdict.evidence
    assert verdict.evidence[0]["outcome"] == outcome
    assert judge.judge(task, script("exit 0\n")).status == "fail", "who fails in public is not masked"


@pytest.mark.jail
def test_the_exit_code_is_no_evidence_unless_the_task_asks_for_it(judge: Judge, tmp_path: Path) -> None:
    free = made_task(tmp_path / "free", "shell", TABLE, FILES)
    assert judge.judge(free, script(f"{UPPER}exit 7\n")).status == "pass"
    assert judge.judge(free, script("exit 0\n")).status == "fail"
    files = {**FILES, "solution/solution.sh": f"{UPPER}exit 7\n"}
    strict = made_task(tmp_path / "strict", "shell", f"{TABLE}\nexit = 7", files)
    assert judge.judge(strict, script(f"{UPPER}exit 7\n")).status == "pass"
    assert judge.judge(strict, script(UPPER)).evidence[0]["outcome"] == "other_exit"


@pytest.mark.jail
def test_every_case_is_a_session_of_its_own(judge: Judge, tmp_path: Path) -> None:
    """Nothing that a case leaves behind is there in the next, outside the tree neither."""
    task = made_task(tmp_path, "shell", TABLE, FILES)
    once = "for f in /tmp/seen ../seen /dev/shm/seen; do [ -e $f ] && exit; : > $f; done\n"
    assert judge.judge(task, script(once + UPPER)).status == "pass"


@pytest.mark.jail
def test_folders_of_the_fixture_can_be_renamed_by_the_system_call(judge: Judge, tmp_path: Path) -> None:
    """As on an ordinary file system: what lies in the lower half of an overlay could not."""
    case = {
        "fixture": [{"path": "d/x", "text": "1", "mode": "640"}, {"path": "d/l", "link": "x"}],
        "expected": [{"path": "d.old/x", "text": "1", "mode": "640"}, {"path": "d.old/l", "link": "x"}],
    }
    files = {**FILES, "public/examples.json": json.dumps([case])}
    task = made_task(tmp_path, "shell", f'{TABLE}\nmodes = "exact"', files)
    rename = "exec python3 -c 'import os\nfor f in os.listdir(): os.rename(f, f + \".old\")'\n"
    verdict = judge.judge(task, script(rename))
    assert verdict.status == "pass", verdict.evidence


@pytest.mark.jail
def test_a_graded_task_pays_for_a_part_and_counts_a_limit_as_a_failed_case(
    judge: Judge, tmp_path: Path
) -> None:
    generator = "import sys\nopen('loop' if sys.argv[2] == '1' else 'plain', 'w').close()\n"
    files, budgets = {**FILES, "hidden/generator.py": generator}, "cpu_s = 0.5\nwall_s = 5"
    loop = script(f"while [ -e loop ]; do :; done\n{UPPER}")
    graded = made_task(tmp_path / "graded", "shell", f'{TABLE}\ncore = "graded"', files, budgets)
    verdict = judge.judge(graded, loop)
    assert (verdict.status, verdict.reward) == ("fail", 0.25), verdict.evidence
    assert verdict.evidence[0]["outcome"] == "timeout_cpu"
    binary = made_task(tmp_path / "binary", "shell", TABLE, files, budgets)
    assert judge.judge(binary, loop).status == "candidate_timeout"


@pytest.mark.jail
def test_a_session_cannot_be_audited_and_the_verdict_says_so(judge: Judge, tmp_path: Path) -> None:
    task = made_task(tmp_path, "shell", TABLE, FILES)
    verdict = judge.judge(task, script(UPPER))
    audited = judge.audit(task, script(UPPER), verdict, Witness)
    assert (audited.status, audited.reward) == ("pass", 1.0)
    assert audited.audit is not None
    assert (audited.audit["status"], audited.audit["complete"]) == ("infra", False)
    assert "a session cannot be audited" in audited.audit["trouble"]


@pytest.mark.jail
def test_sessions_of_a_jailer_judge_alike(tmp_path: Path) -> None:
    task = TASKS["shell-swap"]
    gold = script((Path(task.folder) / "solution/solution.sh").read_text())
    with remote(tmp_path) as jails:
        found = shell.examine(task, gold, jails, 3)
        wrong = shell.examine(task, script("echo 0\n"), jails, 3)
    assert (found.public_passed, found.hidden_passed, found.finding) == (1, 4, None)
    assert wrong.public_passed == 0
