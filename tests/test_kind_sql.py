"""The `sql` kind on real jails: attacks, honest submissions, and what the comparison tells apart."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from appliance.attacks import sql
from appliance.dialogue import Broken
from appliance.errors import IntegrityError, TaskError
from appliance.judge import Judge
from appliance.kinds import sql as kind
from appliance.kinds import sql_reference
from appliance.kinds.sql_rows import Rules, judge_query, same_rows
from appliance.nouns import Task
from appliance.paths import Paths
from appliance.tasks import load_task
from appliance.yard import Yard

PACK = Path(sql.__file__).parent / "pack"
QUERY = load_task(PACK / sql.TASK)
CHANGE = load_task(PACK / "sql_migration")
HOSTILE = [(QUERY, one) for one in sql.attacks(QUERY)] + [(CHANGE, one) for one in sql.change_attacks(CHANGE)]


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache")) as yard:
        yield yard


@pytest.fixture(scope="module")
def judge(yard: Yard) -> Judge:
    return Judge(yard)


def test_every_entry_of_the_sql_family_is_tried() -> None:
    assert {f"S{number}" for number in range(1, 10)} <= {attack.id for _, attack in HOSTILE}
    names = [(task.key, attack.id, attack.name) for task, attack in HOSTILE]
    assert len(set(names)) == len(names) > 90


@pytest.mark.jail
@pytest.mark.parametrize("task", [QUERY, CHANGE], ids=lambda task: task.key)
def test_controls_and_admission(yard: Yard, judge: Judge, task: Task) -> None:
    for artefacts, reward in kind.controls(task).values():
        assert judge.judge(task, artefacts, seed=1).reward == reward
    assert sql_reference.faults(task, yard.of(task), (1, 2, 3)) == []


@pytest.mark.jail
def test_the_same_seed_draws_the_same_instances(yard: Yard) -> None:
    jails = yard.of(QUERY)
    first, again, other = (sql_reference.reference(QUERY, jails, seed) for seed in (5, 5, 6))
    assert first == again
    assert [one.base for one in first[:3]] == [one.base for one in other[:3]]
    assert [one.base for one in first[3:]] != [one.base for one in other[3:]]
    assert all(one.base["tables"] == one.shuffled["tables"] for one in first)


@pytest.mark.jail
def test_no_expected_row_goes_into_the_candidates_jail(yard: Yard) -> None:
    """The gold's file, its rows and the generator are in no question and in no file of the jail."""
    (instance, *_) = sql_reference.reference(QUERY, yard.of(QUERY), 5)
    asked = json.dumps(sql_reference.question(QUERY, instance.base, reverse=False))
    assert "expected" not in asked and json.dumps(instance.expected["rows"]) not in asked
    files = sql_reference.jail_files(b"SELECT 1")
    assert not any(name.endswith("generate.py") or b"coalesce" in body for name, body in files.items())


TABLE = "CREATE TABLE t (k TEXT, n INTEGER, x REAL);"
ROWS = (
    "INSERT INTO t VALUES ('a', 1, 0.1), ('b', 2, 0.2), ('c', 3, 0.3), ('d', NULL, 0.7);",
    "INSERT INTO t VALUES ('e', 5, 0.1), ('f', 6, 1e16), ('g', 7, -1e16), ('h', 8, 0.4);",
    "INSERT INTO t VALUES ('i', 9, 0.1), ('i', 9, 0.1), ('k', 9, 0.25);",
)


def made(folder: Path, gold: str, settings: str = 'mode = "query"', **files: str) -> Path:
    """A small task of its own; `files` by the names of `/` as `__`, with `_sql` at the end."""
    shutil.copytree(PACK / sql.TASK, folder)
    shutil.rmtree(folder / "hidden")
    pool = (folder / "pool.toml").read_text().partition("[sql]")[0]
    (folder / "pool.toml").write_text(f"{pool}[sql]\n{settings}\n")
    (folder / "solution/solution.sql").write_text(gold)
    for name, rows in zip(("public/data.sql", "tests/one.sql", "tests/two.sql"), ROWS, strict=True):
        (folder / name).write_text(TABLE + rows)
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_sql", ".sql").replace("_json", ".json")
        path.write_text(text)
    return folder


def judged(judge: Judge, folder: Path, query: str) -> tuple[str, set[str]]:
    verdict = judge.judge(load_task(folder), {"solution.sql": query.encode()}, seed=4)
    return verdict.status, {item["outcome"] for item in verdict.evidence}


@pytest.mark.jail
def test_a_query_that_depends_on_storage_is_unstable(judge: Judge, tmp_path: Path) -> None:
    gold = "SELECT k FROM t ORDER BY n IS NULL, n, k LIMIT 1"
    folder = made(tmp_path / "task", gold)
    assert judged(judge, folder, gold) == ("pass", set())
    assert judged(judge, folder, "SELECT k FROM t LIMIT 1") == ("fail", {"unstable"})
    assert judged(judge, folder, "SELECT k FROM t WHERE rowid = 1") == ("fail", {"unstable"})


@pytest.mark.jail
def test_a_sequence_is_compared_in_order_and_names_where_asked(judge: Judge, tmp_path: Path) -> None:
    gold = "SELECT k AS letter, n FROM t ORDER BY k DESC, n"
    folder = made(tmp_path / "task", gold, 'mode = "query"\nordered = true\nnames = true')
    assert judged(judge, folder, "SELECT k LETTER, n FROM t ORDER BY 1 DESC, n") == ("pass", set())
    assert judged(judge, folder, "SELECT k AS letter, n FROM t ORDER BY k")[1] == {"wrong_rows"}
    assert judged(judge, folder, "SELECT k, n FROM t ORDER BY k DESC, n")[1] == {"wrong_names"}
    assert judged(judge, folder, "SELECT k AS letter FROM t ORDER BY k DESC, n")[1] == {"wrong_columns"}


@pytest.mark.jail
def test_sums_of_reals_need_a_tolerance(yard: Yard, judge: Judge, tmp_path: Path) -> None:
    gold = "SELECT count(*), sum(x) FROM t WHERE x < 1 AND x > -1"
    exact = load_task(made(tmp_path / "exact", "SELECT sum(x) FROM t"))
    (fault,) = sql_reference.faults(exact, yard.of(exact), (4,))
    assert "instance 0: the gold differs" in fault and "tolerance" in fault
    broken = judge.judge(exact, {"solution.sql": b"SELECT sum(x) FROM t"}, seed=4)
    assert (broken.status, broken.reward, broken.masked) == ("task_broken", None, True)
    folder = made(tmp_path / "close", gold, 'mode = "query"\ntolerance = 1e-9')
    assert judged(judge, folder, "SELECT count(*), total(x) FROM t WHERE abs(x) < 1") == ("pass", set())
    assert judged(judge, folder, "SELECT count(*), sum(x) + 0.001 FROM t WHERE abs(x) < 1")[0] == "fail"
    assert judged(judge, folder, "SELECT count(*) * 1.0, sum(x) FROM t WHERE abs(x) < 1")[0] == "fail"


@pytest.mark.jail
@pytest.mark.parametrize(
    ("gold", "settings", "words"),
    [
        ("SELECT k FROM t WHERE n > 100", 'mode = "query"', "the gold has no rows"),
        ("SELECT 'same'", 'mode = "query"', "every hidden instance has the rows of the public one"),
        ("SELECT nothing FROM t", 'mode = "query"', "gold_failed"),
        ("UPDATE t SET n = n", 'mode = "dml"\ntargets = ["t"]', "changes nothing in t"),
        ("CREATE TABLE u (x)", 'mode = "dml"\ntargets = ["t"]', "forbidden"),
    ],
)
def test_a_task_that_decides_nothing_is_found(
    yard: Yard, tmp_path: Path, gold: str, settings: str, words: str
) -> None:
    task = load_task(made(tmp_path / "task", gold, settings))
    found = sql_reference.faults(task, yard.of(task), (4,))
    assert len(found) == 1
    assert words in found[0] or words == "gold_failed", found


@pytest.mark.jail
def test_a_change_may_do_what_its_mode_allows(judge: Judge, tmp_path: Path) -> None:
    gold = "UPDATE t SET n = coalesce(n, 0) + 1"
    settings = 'mode = "dml"\ntargets = ["t"]\ncore = "graded"'
    other = "CREATE TABLE u (y); INSERT INTO u VALUES (1), (2);"
    data = {
        name: TABLE + rows + other
        for name, rows in zip(("public__data_sql", "tests__one_sql", "tests__two_sql"), ROWS, strict=True)
    }
    folder = made(tmp_path / "task", gold, settings, **data)
    assert judged(judge, folder, "UPDATE t SET n = 1 + ifnull(n, 0);") == ("pass", set())
    assert judged(judge, folder, f"CREATE TABLE more (x); {gold}") == ("fail", {"forbidden"})
    assert judged(judge, folder, "UPDATE t SET n = n + 1") == ("fail", {"wrong_state"})
    assert judged(judge, folder, f"{gold}; INSERT INTO u VALUES (3)") == ("fail", {"outside_target"})
    # Right where it is seen, destructive later: graded tasks too give nothing for it.
    late = f"{gold}; DELETE FROM u WHERE EXISTS (SELECT 1 FROM t WHERE k = 'i')"
    verdict = judge.judge(load_task(folder), {"solution.sql": late.encode()}, seed=4)
    assert (verdict.status, verdict.reward, verdict.gates["invariants"]) == ("fail", 0.0, False)


@pytest.mark.jail
def test_catalogue_and_json_where_a_task_allows_them(judge: Judge, tmp_path: Path) -> None:
    gold = "SELECT name, (SELECT count(*) FROM t) FROM sqlite_master UNION ALL SELECT k, n FROM t"
    folder = made(tmp_path / "task", gold, 'mode = "query"\ncatalogue = true')
    assert judged(judge, folder, gold) == ("pass", set())
    plain = made(tmp_path / "plain", "SELECT k, value FROM t, json_each(json_array(n))")
    assert judged(judge, plain, "SELECT k, n FROM t") == ("pass", set())
    dated = made(tmp_path / "dated", "SELECT k, date('2020-01-31', n || ' days') FROM t WHERE n > 0")
    assert (
        judged(judge, dated, "SELECT k, strftime('%Y-%m-%d', '2020-01-31', n || ' days') FROM t WHERE n > 0")[
            0
        ]
        == "pass"
    )


@pytest.mark.jail
def test_rows_over_the_cap_fail(judge: Judge, tmp_path: Path) -> None:
    folder = made(tmp_path / "task", "SELECT k FROM t", 'mode = "query"\nmax_rows = 5')
    assert judged(judge, folder, "SELECT a.k FROM t a, t b") == ("fail", {"too_large"})


@pytest.mark.jail
def test_warm_jails_judge_alike(tmp_path: Path) -> None:
    with Yard(Paths(data=tmp_path / "data", cache=tmp_path / "cache"), warm=True) as yard:
        judge = Judge(yard)
        for task in (QUERY, CHANGE):
            for artefacts, reward in kind.controls(task).values():
                assert judge.judge(task, artefacts, seed=2).reward == reward


@pytest.mark.jail
def test_a_task_that_changed_is_refused(yard: Yard, tmp_path: Path) -> None:
    folder = made(tmp_path / "task", "SELECT k FROM t")
    task = load_task(folder)
    (folder / "tests/one.sql").write_text(TABLE)
    with pytest.raises(IntegrityError, match="changed after it was loaded"):
        sql_reference.reference(task, yard.of(task), 1)


KELVIN = "boo\u212as"
"""Another name than `books` to SQLite, though `str.lower` makes the same of both."""


@pytest.mark.jail
def test_a_table_cannot_hide_another_by_its_name(judge: Judge, tmp_path: Path) -> None:
    kept = "CREATE TABLE books (a);\nINSERT INTO books VALUES (1);\n"
    names = ("public__data_sql", "tests__one_sql", "tests__two_sql")
    instances = {name: TABLE + rows + kept for name, rows in zip(names, ROWS, strict=True)}
    gold = "UPDATE t SET n = 77;"
    folder = made(tmp_path / "task", gold, 'mode = "migration"\ntargets = ["t"]', **instances)
    assert judged(judge, folder, gold) == ("pass", set())
    hiding = f"{gold} DELETE FROM books; CREATE TABLE {KELVIN} (a); INSERT INTO {KELVIN} VALUES (1);"
    assert judged(judge, folder, hiding) == ("fail", {"outside_target"})


BREACHES: list[tuple[str, dict[str, str], str]] = [
    ('mode = "read"', {}, "'mode'"),
    ('mode = "dml"', {}, "'targets'"),
    ('mode = "query"\ntargets = ["t"]', {}, "means nothing"),
    ('mode = "dml"\ntargets = ["t"]\nordered = true', {}, "means nothing"),
    ('mode = "query"\ngenerated = 1', {}, "generate.py is missing"),
    ('mode = "query"', {"tests__probes_json": '[["SELECT 1"]]'}, "nothing to probe"),
    ('mode = "dml"\ntargets = ["t"]', {"tests__probes_json": '["SELECT 1"]'}, "list of lists"),
    ('mode = "query"', {"tests__two_sql": "\0"}, "not text"),
]


@pytest.mark.parametrize(("settings", "files", "words"), BREACHES, ids=lambda one: str(one)[:40])
def test_a_task_out_of_form_is_refused(
    tmp_path: Path, settings: str, files: dict[str, str], words: str
) -> None:
    with pytest.raises(TaskError, match=words):
        load_task(made(tmp_path / "task", "SELECT k FROM t", settings, **files))


def test_too_few_instances_are_refused(tmp_path: Path) -> None:
    folder = made(tmp_path / "task", "SELECT k FROM t")
    (folder / "tests/two.sql").unlink()
    with pytest.raises(TaskError, match="fewer than 2 hidden"):
        load_task(folder)


BAG, SEQUENCE, CLOSE = Rules(), Rules(ordered=True), Rules(tolerance=1e-6)
COMPARED: list[tuple[list[Any], list[Any], Rules, bool]] = [
    ([[1]], [[1.0]], BAG, False),
    ([[1]], [["1"]], BAG, False),
    ([["a"]], [[{"$bytes": "61"}]], BAG, False),
    ([[None]], [[0]], BAG, False),
    ([[1], [2]], [[2], [1]], BAG, True),
    ([[1], [2]], [[2], [1]], SEQUENCE, False),
    ([[1], [1]], [[1]], BAG, False),
    ([[1], [1], [2]], [[1], [2], [2]], BAG, False),
    ([["a", 1.0], ["b", 2.0]], [["b", 2.0000001], ["a", 1.0]], CLOSE, True),
    ([["a", 1.0], ["b", 2.0]], [["a", 2.0], ["b", 1.0]], CLOSE, False),
    ([["a", 1.0]], [["a", 1]], CLOSE, False),
    ([[1.0], [1.0]], [[1.0], [2.0]], CLOSE, False),
    ([[{"$float": "inf"}]], [[1e308]], CLOSE, False),
]


@pytest.mark.parametrize(("expected", "got", "rules", "same"), COMPARED)
def test_rows_are_compared_by_type_and_number(expected: Any, got: Any, rules: Rules, same: bool) -> None:
    assert same_rows(expected, got, rules) is same
    assert same_rows(got, expected, rules) is same


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"names": ["a"]},
        {"names": ["a"], "rows": [[True]]},
        {"names": ["a"], "rows": [[[1]]]},
        {"names": ["a"], "rows": [[{"$tuple": []}]]},
        {"names": ["a"], "rows": [[{"$bytes": "zz"}]]},
        {"names": [1], "rows": [[1]]},
        {"names": ["a"], "rows": [[1]], "correct": True},
    ],
    ids=repr,
)
def test_a_reply_of_another_shape_is_a_breach(reply: dict[str, Any]) -> None:
    with pytest.raises(Broken):
        judge_query({"names": ["a"], "rows": [[1]]}, reply, BAG)
