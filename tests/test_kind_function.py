"""Random and related cases of function tasks on real jails: drawn once, answered by the gold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import function_tasks
import pytest

from appliance.errors import TaskError
from appliance.judge import Judge
from appliance.kinds import function
from appliance.kinds.function_cases import RELATIONS, related
from appliance.nouns import Task, Verdict
from appliance.paths import Paths
from appliance.yard import Yard

GOLD = "def solve(n):\n    return n * n\n"
SQUARES = "def cases(random):\n    while True:\n        yield [random.randint(100, 10**9)]\n"
ROWS = {"public": [{"args": [2], "expected": 4}], "cases": [{"args": [3], "expected": 9}]}
PERMUTE = "def solve(items):\n    return items[::-1]\n"
RELATED = """
def relations(random):
    while True:
        items = [random.randint(0, 99) for _ in range(random.randint(2, 9))]
        yield "bag", "same_bag", [items], [items[::-1]]
        yield "bag", "differs", [items], [[*items, 100]]
"""


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache"), warm=True) as yard:
        yield yard


@pytest.fixture(scope="module")
def judge(yard: Yard) -> Judge:
    return Judge(yard)


@pytest.fixture
def squares(tmp_path: Path) -> Task:
    return function_tasks.task(tmp_path / "t", GOLD, settings="generated = 8", generator=SQUARES, **ROWS)


def given(source: str) -> dict[str, bytes]:
    return {"solution.py": source.encode()}


def outcomes(verdict: Verdict) -> set[str]:
    return {str(item["outcome"]) for item in verdict.evidence}


@pytest.mark.jail
def test_random_cases_catch_what_fixed_ones_do_not(judge: Judge, squares: Task) -> None:
    assert function.totals(squares) == (1, 9)
    right = judge.judge(squares, given(GOLD), seed=1)
    assert (right.status, right.signals["hidden_share"].value) == ("pass", 1.0)
    table = judge.judge(squares, given("def solve(n):\n    return {2: 4, 3: 9}.get(n, 0)\n"), seed=1)
    assert (table.status, outcomes(table)) == ("fail", {"wrong_value"})
    assert table.signals["hidden_share"].value == pytest.approx(1 / 9)
    assert sorted(item["case"] for item in table.evidence) == list(range(1, 9))


@pytest.mark.jail
def test_inputs_follow_the_seed(judge: Judge, squares: Task) -> None:
    echo = given("def solve(n):\n    return n if n > 3 else n * n\n")
    first, again, other = (judge.judge(squares, echo, seed=seed).evidence for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.jail
def test_siblings_share_one_draw(yard: Yard, squares: Task) -> None:
    jails = function_tasks.Counting(yard.default)
    for wanted in (3, 1, 1):
        before = len(jails.opened)
        assert function.examine(squares, given(GOLD), jails, 77).finding is None
        assert len(jails.opened) - before == wanted
    generator, oracle, *candidates = jails.opened
    assert "generator.py" in generator and "solution.py" not in generator
    assert all("generator.py" not in files for files in (oracle, *candidates))
    function.examine(squares, given(GOLD), jails, 78)
    assert len(jails.opened) == 8


@pytest.mark.jail
def test_siblings_at_the_same_time_share_one_draw(yard: Yard, squares: Task) -> None:
    jails = function_tasks.Counting(yard.default)
    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(lambda _: function.examine(squares, given(GOLD), jails, 79), range(6)))
    assert all(examination.hidden_passed == 9 for examination in done)
    assert sum("generator.py" in files for files in jails.opened) == 1
    assert len(jails.opened) == 8


@pytest.mark.jail
def test_one_submission_has_one_verdict_under_load(judge: Judge, squares: Task) -> None:
    """Set order, random numbers and a wrong answer now and then: the same every time."""
    source = "def solve(n):\n    return n * n if len({'a', 'b', str(n)}) and n % 3 else list({'x', 'y', 'z', str(n)})\n"
    with ThreadPoolExecutor(8) as pool:
        verdicts = list(pool.map(lambda _: judge.judge(squares, given(source), seed=5), range(40)))
    seen = {json.dumps([v.status, v.reward, v.evidence, v.artefact_hash]) for v in verdicts}
    assert len(seen) == 1
    assert verdicts[0].status == "fail"


@pytest.mark.jail
def test_cold_and_warm_jails_lead_to_one_verdict(judge: Judge, squares: Task, tmp_path: Path) -> None:
    source = given("def solve(n):\n    return n * n if n < 99 else list({'one', 'two', 'three', str(n)})\n")
    with Yard(Paths(data=tmp_path / "data", cache=tmp_path / "cache")) as cold:
        found = Judge(cold).judge(squares, source, seed=6)
    wanted = judge.judge(squares, source, seed=6)
    assert (found.status, found.evidence) == (wanted.status, wanted.evidence)
    assert outcomes(found) == {"wrong_value"}


@pytest.mark.jail
def test_relations_accept_every_right_answer_and_no_constant(judge: Judge, tmp_path: Path) -> None:
    rows = {"public": [{"args": [[]], "expected": []}], "cases": [{"args": [[7]], "expected": [7]}]}
    task = function_tasks.task(tmp_path / "t", PERMUTE, settings="related = 6", generator=RELATED, **rows)
    assert function.totals(task) == (1, 7)
    for right in ("items[::-1]", "sorted(items)", "items[1:] + items[:1]"):
        assert judge.judge(task, given(f"def solve(items):\n    return {right}\n")).status == "pass"
    constant = "def solve(items):\n    return items if len(items) < 2 else [1, 2]\n"
    found = judge.judge(task, given(constant))
    assert (found.status, outcomes(found)) == ("fail", {"relation_broken"})
    lossy = judge.judge(task, given("def solve(items):\n    return items[:2]\n"))
    assert lossy.status == "fail"
    broken = judge.judge(
        task, given("def solve(items):\n    return items if len(items) < 2 else items[99]\n")
    )
    assert outcomes(broken) == {"raised"}


HOLDING = {
    "equal": ([1, 2], [1, 2], [2, 1]),
    "differs": (1, 1.0, 1),
    "reversed": ({"$tuple": [1, "a"]}, {"$tuple": ["a", 1]}, ["a", 1]),
    "negated": (3, -3, 3),
    "same_bag": ([1, 2, 2], [2, 1, 2], [1, 1, 2]),
    "not_less": (1.5, 1.5, 1.25),
}


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_relation_holds_for_the_one_and_not_for_the_other(relation: str) -> None:
    first, holds, not_so = HOLDING[relation]
    assert related(relation, first, holds, None)
    assert not related(relation, first, not_so, None)


@pytest.mark.parametrize("relation", ["reversed", "negated", "same_bag", "not_less"])
def test_a_relation_does_not_hold_between_values_it_is_not_meant_for(relation: str) -> None:
    for first, second in ((True, True), (None, None), ("a", 1), ({"$float": "nan"}, {"$float": "nan"})):
        assert not related(relation, first, second, 1e-9)


def test_a_tolerance_reaches_into_related_values() -> None:
    assert related("reversed", [1.0, 2.0], [2.0 + 1e-12, 1.0], 1e-9)
    assert related("negated", 1.0, -1.0 - 1e-12, 1e-9)
    assert not related("differs", 1.0, 1.0 + 1e-12, 1e-9)


BROKEN = {
    "gold raises": ({"gold": "def solve(n):\n    return n * n if n < 99 else n / 0\n"}, "ZeroDivisionError"),
    "gold exits": (
        {"gold": "import os\ndef solve(n):\n    return n * n if n < 99 else os._exit(0)\n"},
        "gold",
    ),
    "gold hangs": ({"gold": "def solve(n):\n    while n > 99: pass\n    return n * n\n"}, "the limit of"),
    "gold answers nothing": (
        {"gold": "def solve(n):\n    return n * n if n < 99 else solve\n"},
        "unencodable",
    ),
    "gold breaks a relation": (
        {
            "settings": "generated = 2\nrelated = 2",
            "generator": SQUARES
            + "\ndef relations(random):\n    yield 'a', 'equal', [1], [2]\n    yield 'a', 'differs', [1], [2]\n",
        },
        "equal does not hold",
    ),
    "no pair that differs": (
        {
            "settings": "generated = 2\nrelated = 1",
            "generator": SQUARES + "\ndef relations(random):\n    yield 'twins', 'equal', [1], [1]\n",
        },
        "'twins' has no pair that differs",
    ),
    "unknown relation": (
        {
            "settings": "generated = 2\nrelated = 1",
            "generator": SQUARES + "\ndef relations(random):\n    yield 'a', 'alike', [1], [1]\n",
        },
        "'alike' is no relation",
    ),
    "no quadruple": (
        {
            "settings": "generated = 2\nrelated = 1",
            "generator": SQUARES + "\ndef relations(random):\n    yield 'equal', [1], [1]\n",
        },
        "tests/generator.py",
    ),
    "too few": ({"generator": "def cases(random):\n    yield [1]\n"}, "yields 1 cases"),
    "raises": ({"generator": "def cases(random):\n    raise KeyError('x')\n"}, "KeyError"),
    "hangs": ({"generator": "def cases(random):\n    while True: pass\n    yield\n"}, "the limit of"),
    "exits": ({"generator": "import os\ndef cases(random):\n    os._exit(0)\n"}, "early_exit"),
    "no arguments": ({"generator": "def cases(random):\n    while True:\n        yield 5\n"}, "as a int"),
    "too deep": (
        {
            "generator": "def cases(random):\n    thing = []\n    for _ in range(99):\n        thing = [thing]\n"
            "    while True:\n        yield [thing]\n"
        },
        "nested",
    ),
    "no values": ({"generator": "def cases(random):\n    while True:\n        yield [object]\n"}, "type"),
}


@pytest.mark.jail
@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_task_is_not_the_candidates_failure(judge: Judge, tmp_path: Path, fault: str) -> None:
    parts, said = BROKEN[fault]
    own = {"gold": GOLD, "settings": "generated = 4", "generator": SQUARES, **ROWS, **parts}
    verdict = judge.judge(function_tasks.task(tmp_path / "t", **own), given(GOLD))
    assert (verdict.status, verdict.reward) == ("task_broken", None), verdict.evidence
    assert said in verdict.evidence[0]["text"]
    assert verdict.masked


@pytest.mark.jail
def test_a_gold_may_raise_what_the_task_allows(judge: Judge, tmp_path: Path) -> None:
    gold = "def solve(n):\n    if n % 2:\n        raise LookupError(n)\n    return n * n\n"
    rows = {"public": [{"args": [2], "expected": 4}], "cases": [{"args": [4], "expected": 16}]}
    task = function_tasks.task(
        tmp_path / "t",
        gold,
        settings='generated = 12\nmay_raise = ["LookupError"]',
        generator=SQUARES,
        **rows,
    )
    assert judge.judge(task, given(gold)).status == "pass"
    narrower = gold.replace("LookupError", "KeyError")
    assert judge.judge(task, given(narrower)).status == "pass"
    assert outcomes(judge.judge(task, given(gold.replace("LookupError", "ValueError")))) == {"raised"}
    assert outcomes(judge.judge(task, given(GOLD))) == {"no_raise"}


@pytest.mark.jail
def test_nothing_of_a_task_runs_on_the_host(judge: Judge, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    mark = f"\ntry:\n    open({str(trace)!r}, 'a').write('x')\nexcept OSError:\n    pass\n"
    task = function_tasks.task(
        tmp_path / "t",
        GOLD + mark,
        settings='generated = 2\ncheck = "check"',
        generator=SQUARES + mark,
        check=f"{mark}\ndef check(candidate):\n    assert candidate(2) == 4\n",
        **ROWS,
    )
    assert judge.judge(task, given(GOLD + mark)).status == "pass"
    assert not trace.exists()


FAULTS = {
    "no generator": ({"settings": "generated = 3", **ROWS}, "tests/generator.py is missing"),
    "nobody asks": ({"generator": SQUARES, **ROWS}, "nothing asks for it"),
    "no cases function": (
        {"settings": "generated = 3", "generator": "def relations(random): pass\n", **ROWS},
        "cases is not defined",
    ),
    "no relations function": (
        {"settings": "related = 3", "generator": SQUARES, **ROWS},
        "relations is not defined",
    ),
    "relations without an anchor": (
        {"settings": "related = 3", "generator": RELATED, "public": ROWS["public"]},
        "tests/cases.json is missing",
    ),
    "no check file": ({"settings": 'check = "check"', **ROWS}, "tests/check.py is missing"),
    "no check function": (
        {"settings": 'check = "check"', "check": "x = 1\n", **ROWS},
        "check is not defined",
    ),
    "check is no Python": ({"settings": 'check = "check"', "check": "def check(\n", **ROWS}, "SyntaxError"),
    "no exception": (
        {"settings": 'generated = 3\nmay_raise = ["ValeError"]', "generator": SQUARES, **ROWS},
        "'ValeError' is not a built-in exception",
    ),
    "no number": ({"settings": "generated = 0", "generator": SQUARES, **ROWS}, "'generated'"),
    "nothing hidden": ({"public": ROWS["public"]}, "tests/cases.json is missing"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_task_is_named(tmp_path: Path, fault: str) -> None:
    parts, said = FAULTS[fault]
    with pytest.raises(TaskError) as caught:
        function_tasks.task(tmp_path / "t", GOLD, **parts)
    assert said in caught.value.message
    assert caught.value.remedy
