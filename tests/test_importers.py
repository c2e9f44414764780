"""Every importer reads a sample of its format, and its tasks are judged; nothing of a source is ever run."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from appliance.admission.contamination import Guard
from appliance.cli.main import run
from appliance.errors import ApplianceError, TaskError, UsageError
from appliance.importers import format_names, load_format, patches
from appliance.importers.adapt import Unfit
from appliance.importers.intake import Intake, bring_in
from appliance.importers.row import RECORD, Options
from appliance.importers.source import read
from appliance.judge import Judge
from appliance.kinds import load_kind
from appliance.paths import Paths
from appliance.tasks import find_task, load_pack, shipped_packs
from appliance.yard import Yard

DATA = Path(__file__).parent / "data/imports"
SAMPLES = {
    "apps": ("apps.jsonl", ["apps-1", "apps-2"], ["no solution that is Python 3"]),
    "eval-plus": ("eval-plus.jsonl", ["own-0"], []),
    "human-eval": ("human-eval.jsonl", ["own-0"], []),
    "live-code-bench": ("live-code-bench.jsonl", ["lcb-sum_a", "lcb-3001"], ["a pickle"]),
    "mbpp": ("mbpp.jsonl", ["mbpp-7"], ["call 2 functions"]),
    "quixbugs": ("quixbugs", ["span"], ["needs json_testcases/walk.json"]),
    "reasoning-gym": ("reasoning-gym.jsonl", ["rg-leg_counting-1"], []),
    "swe-bench": ("swe-bench.jsonl", ["own__ruler-1"], ["needs the repository own/elsewhere at commit bbbb"]),
    "swe-smith": ("swe-smith.jsonl", ["own__ruler-aaaaaaaa-func_1"], []),
}
"""Format: its sample, the tasks of it, and the reasons of the rows that are blocked."""


def imported(format: str, source: Path, pack: Path, name: str = "own", limit: int | None = None) -> Intake:
    options = Options(name, licence="MIT", repos=DATA / "repos", golds=DATA / "golds")
    return bring_in(load_format(format), source, pack, options, limit)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache"), warm=True) as yard:
        yield Judge(yard)


def test_every_format_has_a_sample() -> None:
    assert {*SAMPLES, "chat", "harbor"} == set(format_names())


@pytest.mark.parametrize("format", SAMPLES)
def test_a_sample_becomes_a_pack_and_says_what_it_left_out(format: str, tmp_path: Path) -> None:
    sample, names, reasons = SAMPLES[format]
    found = imported(format, DATA / sample, tmp_path / "pack")
    assert list(found.tasks) == [f"own/{name}" for name in names]
    assert sorted(task.key for task in load_pack(tmp_path / "pack")) == sorted(found.tasks)
    assert len(found.blocked) == len(reasons)
    for row, reason in zip(found.blocked, reasons, strict=True):
        assert reason in row["reason"]
    if reasons:
        lines = (tmp_path / "pack/blocked.jsonl").read_text().splitlines()
        assert [json.loads(line) for line in lines] == list(found.blocked)


@pytest.mark.jail
@pytest.mark.parametrize("format", SAMPLES)
def test_the_judge_passes_the_gold_of_a_sample_and_fails_its_start(
    format: str, tmp_path: Path, judge: Judge
) -> None:
    imported(format, DATA / SAMPLES[format][0], tmp_path / "pack")
    for task in load_pack(tmp_path / "pack"):
        for name, (artefacts, reward) in load_kind(task.kind).controls(task).items():
            verdict = judge.judge(task, artefacts, seed=1)
            assert verdict.reward == reward, (task.key, name, verdict.status, verdict.evidence)


def test_what_has_no_place_in_a_task_is_kept_with_where_it_came_from(tmp_path: Path) -> None:
    imported("human-eval", DATA / "human-eval.jsonl", tmp_path / "pack")
    record = json.loads((tmp_path / "pack/own-0" / RECORD).read_text())
    (row,) = read(DATA / "human-eval.jsonl")
    assert record == {
        "format": "human-eval",
        "file": "human-eval.jsonl",
        "sha256": row.sha256,
        "row": 1,
        "extra": {"note": "kept"},
    }


def test_inputs_without_answers_are_drawn_and_none_is_written_down(tmp_path: Path) -> None:
    imported("eval-plus", DATA / "eval-plus.jsonl", tmp_path / "pack")
    task = find_task("own/own-0", [tmp_path / "pack"])
    assert task.settings["generated"] == 4
    assert "numpy" not in (tmp_path / "pack/own-0/tests/check.py").read_text()
    assert not (tmp_path / "pack/own-0/tests/cases.json").exists()


def test_the_tests_that_must_begin_to_pass_are_taken_out_of_the_code_base(tmp_path: Path) -> None:
    imported("swe-smith", DATA / "swe-smith.jsonl", tmp_path / "pack")
    (folder,) = (tmp_path / "pack").glob("*/environment/repo/tests/test_ruler.py")
    text = folder.read_text()
    assert "test_centimetres" in text and "largest_unit(7)" in text
    assert "test_1000" not in text


def test_a_row_whose_checkout_holds_a_link_is_blocked(tmp_path: Path) -> None:
    place = tmp_path / "repos/own__ruler"
    place.mkdir(parents=True)
    (place / "secret").symlink_to("/etc/passwd")
    options = Options("own", repos=tmp_path / "repos")
    found = bring_in(load_format("swe-smith"), DATA / "swe-smith.jsonl", tmp_path / "pack", options, None)
    assert not found.tasks and "holds a link" in found.blocked[0]["reason"]


@pytest.mark.parametrize("what", ["canary", "statement", "gold"])
def test_a_conversation_that_holds_an_eval_task_is_blocked(tmp_path: Path, what: str) -> None:
    task = find_task("starter/fibonacci")
    gold = (Path(task.folder) / "solution/solution.py").read_text()
    held = {"canary": task.canary, "statement": task.statement, "gold": gold}[what]
    clean = {"messages": [{"role": "user", "content": "Add 1 and 2."}, {"role": "assistant", "content": "3"}]}
    bad = {
        "messages": [{"role": "user", "content": "Well?"}, {"role": "assistant", "content": f"So: {held}"}]
    }
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in (clean, bad)))
    guard = Guard(load_pack(shipped_packs()["starter"]))
    found = bring_in(load_format("chat"), source, tmp_path / "pack", Options("own"), None, guard)
    assert found.examples == 1
    assert [row["reason"] for row in found.blocked] == [
        f"holds the {what} of the eval task starter/fibonacci"
    ]


# What is malformed names file, row and field, and leaves nothing behind.


def first(format: str) -> dict[str, Any]:
    sample = "chat.jsonl" if format == "chat" else SAMPLES[format][0]
    row: dict[str, Any] = json.loads((DATA / sample).read_text().splitlines()[0])
    return row


FAULTS: list[tuple[str, str, Any]] = [
    ("apps", "input_output", '{"inputs": [1]}'),
    ("apps", "question", None),
    ("chat", "messages[0].role", [{"role": "boss", "content": "x"}]),
    ("chat", "messages[0].content", [{"role": "user", "content": 7}]),
    ("chat", "messages[0].tool_call_id", [{"role": "tool", "content": "x", "tool_call_id": "c9"}]),
    ("eval-plus", "atol", "0"),
    ("eval-plus", "base_input", [4]),
    ("human-eval", "entry_point", 7),
    ("human-eval", "prompt", "\ud800"),
    ("human-eval", "task_id", "a\0b"),
    ("human-eval", "task_id", "//"),
    ("live-code-bench", "public_test_cases", '[{"input": "1"}]'),
    ("live-code-bench", "private_test_cases", "%%%"),
    ("mbpp", "test_list", []),
    ("reasoning-gym", "answer", 12),
    ("swe-bench", "FAIL_TO_PASS", "tests.x"),
    ("swe-bench", "repo", "../.."),
    ("swe-bench", "base_commit", "../../etc"),
    ("swe-smith", "patch", None),
]


@pytest.mark.parametrize(("format", "field", "value"), FAULTS)
def test_a_malformed_row_is_refused(format: str, field: str, value: Any, tmp_path: Path) -> None:
    good, bad = first(format), first(format)
    bad[field.partition("[")[0]] = value
    source = tmp_path / "rows.jsonl"
    source.write_text(f"{json.dumps(good)}\n{json.dumps(bad)}\n")
    with pytest.raises(TaskError) as refused:
        imported(format, source, tmp_path / "pack")
    assert f"rows.jsonl: row 2: field '{field}'" in refused.value.message
    assert refused.value.remedy
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("rows.jsonl", b'{"a": 1}\n{broken\n', "rows.jsonl: row 2 is no JSON"),
        ("rows.jsonl", b"[1]\n", "row 1 is not an object"),
        ("rows.jsonl", b"\xff\n", "row 1 is no JSON"),
        ("rows.jsonl", b"[" * 100_000, "row 1 is no JSON"),
        ("rows.jsonl.gz", b"no gzip", "Not a gzipped file"),
        ("rows.jsonl", b"", "holds no row"),
        ("rows.parquet", b"PAR1", "convert to JSONL"),
    ],
)
def test_a_source_that_is_none_is_refused(name: str, body: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(body)
    with pytest.raises((TaskError, UsageError)) as refused:
        for row in read(tmp_path / name):
            if row.data != {"a": 1}:
                pytest.fail("read")
        imported("mbpp", tmp_path / name, tmp_path / "pack")
    assert said in str(refused.value)
    assert not (tmp_path / "pack").exists()


def test_a_source_that_unpacks_without_end_and_a_huge_row_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "rows.jsonl.gz"
    source.write_bytes(gzip.compress(b" " * 5000) + gzip.compress(b" " * 5000))
    monkeypatch.setattr("appliance.importers.source.MAX_BYTES", 8000)
    with pytest.raises(UsageError, match="unpacks to more"):
        list(read(source))
    monkeypatch.setattr("appliance.importers.source.MAX_ROW", 10)
    source = tmp_path / "rows.jsonl"
    source.write_text('{}\n{"a": "0123456789"}\n')
    with pytest.raises(TaskError, match="row 2 has more"):
        list(read(source))


def test_a_link_in_place_of_a_source_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").symlink_to(DATA / "mbpp.jsonl")
    with pytest.raises(UsageError, match="not a regular file"):
        imported("mbpp", tmp_path / "rows.jsonl", tmp_path / "pack")


def test_two_rows_of_one_name_and_a_pack_that_is_there_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_text((DATA / "human-eval.jsonl").read_text() * 2)
    with pytest.raises(TaskError, match=r"row 2.*which row 1 has"):
        imported("human-eval", source, tmp_path / "pack")
    imported("human-eval", source, tmp_path / "pack", limit=1)
    with pytest.raises(UsageError, match="is there already"):
        imported("human-eval", source, tmp_path / "pack")


def test_a_task_that_cannot_be_judged_is_blocked_with_what_is_wrong(tmp_path: Path) -> None:
    row = first("human-eval") | {"entry_point": "other"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    found = imported("human-eval", tmp_path / "rows.jsonl", tmp_path / "pack")
    assert "other is not defined" in found.blocked[0]["reason"]
    assert str(tmp_path) not in found.blocked[0]["reason"]
    assert not list((tmp_path / "pack").glob("own-0*"))


@pytest.mark.parametrize("line", ["[1]", "[[1]]", "nonsense"])
def test_a_malformed_case_of_a_folder_is_refused(line: str, tmp_path: Path) -> None:
    for part in ("python_programs", "correct_python_programs"):
        (tmp_path / "q" / part).mkdir(parents=True)
        (tmp_path / "q" / part / "f.py").write_text("def f(x):\n    return x\n")
    (tmp_path / "q/json_testcases").mkdir()
    (tmp_path / "q/json_testcases/f.json").write_text(f"[[1], 1]\n{line}\n")
    with pytest.raises(TaskError, match=r"f\.json: row 2"):
        imported("quixbugs", tmp_path / "q", tmp_path / "pack")
    assert not (tmp_path / "pack").exists()


# Patches.

BEFORE = {"a.txt": b"one\ntwo\nthree\n", "b.txt": b"no end", "gone.txt": b"x\n"}
AFTER = {"a.txt": b"one\n-- 2\nthree\nfour", "b.txt": b"no end\n", "new/c.txt": "ü\r\nx\n".encode()}


def test_a_diff_says_what_changed_both_ways() -> None:
    changes = patches.read(patches.write(BEFORE, AFTER))
    assert patches.apply(BEFORE, changes) == AFTER
    assert patches.apply(AFTER, [change.reversed() for change in changes]) == BEFORE
    # Its own removal of a line "-- 2" reads like the head of a file.
    back = patches.read(patches.write(AFTER, BEFORE))
    assert patches.apply(AFTER, back) == BEFORE


def test_a_diff_is_applied_where_its_lines_have_moved_to() -> None:
    patch = patches.write({"a": b"x\ny\n"}, {"a": b"x\nz\n"})
    assert patches.apply({"a": b"0\n0\nx\ny\n"}, patches.read(patch)) == {"a": b"0\n0\nx\nz\n"}


@pytest.mark.parametrize(
    "patch",
    [
        "--- a/../../etc/passwd\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a/a.txt\n+++ b//etc/passwd\n@@ -1 +1 @@\n-one\n+b\n",
        "--- a/absent\n+++ b/absent\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-other\n+b\n",
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,9 +1 @@\n-one\n+b\n",
        "diff --git a/a.txt b/z.txt\nrename from a.txt\nrename to z.txt\n",
        "words",
        "",
    ],
)
def test_a_diff_that_does_not_fit_or_leaves_the_tree_is_refused(patch: str) -> None:
    with pytest.raises(Unfit):
        patches.apply(BEFORE, patches.read(patch))


# The command.


def test_the_command_prints_what_it_made_and_names_formats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["task", "import", "mbpp", str(DATA / "mbpp.jsonl"), "--pack", str(tmp_path / "mine")]
    assert run([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["tasks"], len(found["blocked"])) == (["mine/mbpp-7"], 1)
    assert run(["task", "import", "mbp", "x", "--pack", str(tmp_path / "other")]) == 4
    assert "did you mean 'mbpp'" in capsys.readouterr().err


def test_an_unknown_format_is_not_found() -> None:
    with pytest.raises(ApplianceError, match="no importer"):
        load_format("row")
