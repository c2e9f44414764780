"""Assertions on function tasks: heard across two jails, steered by nothing but values, blamed on the right one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import function_tasks
import pytest

from appliance.judge import Judge
from appliance.kinds import function
from appliance.kinds.function_plain import are_equal, assertions, is_true
from appliance.nouns import Task
from appliance.paths import Paths
from appliance.sandbox.witness import Witness
from appliance.values import decode, encode, normal
from appliance.yard import Yard

CHECK = 'check = "check"'
IDENTITY = "def solve(thing):\n    return thing\n"
RAISING = "def solve(name):\n    raise {'V': ValueError, 'K': KeyError, 'Z': ZeroDivisionError}[name](name)\n"


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    home = tmp_path_factory.mktemp("home")
    with Yard(Paths(data=home / "data", cache=home / "cache"), warm=True) as yard:
        yield yard


@pytest.fixture(scope="module")
def judge(yard: Yard) -> Judge:
    return Judge(yard)


def asserted(folder: Path, gold: str, body: str, settings: str = "") -> Task:
    """A task whose check has `body`, indented by four."""
    check = f"import math\nimport random\n\n\ndef check(candidate):\n{body}\n"
    return function_tasks.task(folder, gold, settings=f"{CHECK}\n{settings}", check=check)


def ended(judge: Judge, task: Task, source: str) -> tuple[str, str]:
    """Status, and the outcome of the assertions."""
    verdict = judge.judge(task, {"solution.py": source.encode()}, seed=4)
    return verdict.status, str(verdict.evidence[-1]["outcome"]) if verdict.evidence else "correct"


VALUES = """
    for value in (None, True, 7, -2.5, "a\\u00e9", b"\\x00", [1, [2]], (1, (2,)), {1, 2}, frozenset({3}),
                  {"b": 1, "a": [None]}, {(1, 2): {4}}, 10 ** 300, float("inf"), [], (), set(), {}):
        answer = candidate(value)
        assert answer == value and type(answer) is type(value), value
        assert answer is not value or type(value) not in (list, dict, set)
    assert math.isnan(candidate(float("nan")))
    assert math.copysign(1, candidate(-0.0)) == -1
    assert solve(3) == 3
"""
EXCEPTIONS = """
    for name, kind in (("V", ValueError), ("K", KeyError), ("Z", ZeroDivisionError)):
        try:
            candidate(name)
        except kind as error:
            assert type(error) is kind and error.args == (name,) and str(error) == str(kind(name))
        else:
            raise AssertionError(name)
"""
UNITTEST = """
    import unittest
    case = unittest.TestCase()
    case.assertEqual(candidate([1, (2, None)]), [1, (2, None)])
    case.assertAlmostEqual(candidate(0.1 + 0.2), 0.3)
    case.assertCountEqual(candidate([2, 1]), [1, 2])
    case.assertIn("x", candidate({"x": 1}))
    with case.assertRaises(TypeError):
        candidate()
"""
LOOP = """
    import copy
    for _ in range(100):
        drawn = [random.randint(-9, 9) for _ in range(5)]
        assert candidate(copy.deepcopy(drawn)) == drawn
    print("a line that nobody reads")
"""
ORDER = """
    assert candidate({"b": 1, "a": 2}) == "ba" and candidate({"a": 2, "b": 1}) == "ab"
    assert candidate({2: 0, 1: 0}) == "21"
    assert candidate(thing={"z": {"y": 1}, "x": 2}) == "zx"
"""


@pytest.mark.jail
@pytest.mark.parametrize(
    ("gold", "body"),
    [
        (IDENTITY, VALUES),
        (RAISING, EXCEPTIONS),
        (IDENTITY, UNITTEST),
        (IDENTITY, LOOP),
        ("def solve(thing):\n    return ''.join(map(str, thing))\n", ORDER),
    ],
    ids=["values", "exceptions", "unittest", "loop", "order"],
)
def test_assertions_see_what_they_would_see_beside_the_candidate(
    judge: Judge, tmp_path: Path, gold: str, body: str
) -> None:
    task = asserted(tmp_path / "t", gold, body)
    assert function.totals(task) == (1, 1)
    assert ended(judge, task, gold) == ("pass", "correct")
    assert ended(judge, task, "def solve(thing):\n    pass\n")[0] == "fail"


@pytest.mark.jail
def test_two_jails_and_neither_has_what_the_other_has(yard: Yard, tmp_path: Path) -> None:
    task = asserted(tmp_path / "t", IDENTITY, LOOP)
    jails = function_tasks.Counting(yard.default)
    assert function.examine(task, {"solution.py": IDENTITY.encode()}, jails, 0).hidden_passed == 1
    candidate, tester = jails.opened
    assert "solution.py" in candidate and "check.py" not in candidate
    assert "check.py" in tester and "solution.py" not in tester


@pytest.mark.jail
def test_a_fault_of_the_assertions_is_the_tasks(judge: Judge, tmp_path: Path) -> None:
    faults = {
        "name": "    assert candidate(1) == undefined\n",
        "wrong": "    assert candidate(1) == 1\n    assert len(candidate(2)) == 1\n",
        "exit": "    candidate(1)\n    import os\n    os._exit(0)\n",
        "endless": "    while True:\n        candidate(1)\n",
        "hang": "    while candidate(1):\n        while True:\n            pass\n",
        "deep": "    thing = []\n    for _ in range(99):\n        thing = [thing]\n    candidate(thing)\n",
        "odd": "    candidate(**{'$set': 1})\n",
        "unsendable": "    candidate(lambda: 1)\n",
    }
    for name, body in faults.items():
        task = asserted(tmp_path / name, IDENTITY, body, settings="calls = 60")
        verdict = judge.judge(task, {"solution.py": IDENTITY.encode()})
        assert (verdict.status, verdict.reward) == ("task_broken", None), (name, verdict.evidence)
        assert "tests/check.py" in verdict.evidence[0]["text"]


STEERED = """
    assert candidate(0) is None
    found = candidate(3)
    assert len(found) == 3
    while found and found[0] != 0:
        found = found[1:] if found[0] > 0 else found
    for _ in range(1000):
        if candidate(1) == [1]:
            break
    else:
        while candidate(2):
            pass
    assert sum(found) == 0
"""
STEERING = {
    "if n == 0: return None\n    return [1] * n": ("pass", "correct"),
    "if n == 0: return None": ("fail", "check_fault"),
    "if n == 0: return None\n    return ['a'] * n": ("fail", "check_fault"),
    "if n == 0: return None\n    return [-1] * n": ("fail", "tester_broken"),
    "if n == 0: return None\n    return [0] * n": ("fail", "too_many_calls"),
    "if n == 0: return None\n    return [1, 2]": ("fail", "assertion_failed"),
    "if n == 0: return None\n    return [1 / 0]": ("fail", "candidate_raised"),
    "if n == 0: return None\n    return lambda: 1": ("fail", "unencodable"),
    "if n == 0: return None\n    while True: pass": ("candidate_timeout", "timeout_"),
    "if n == 0: return None\n    raise SystemExit": ("fail", "candidate_raised"),
    "if n == 0: return None\n    raise AssertionError": ("fail", "candidate_raised"),
}


@pytest.mark.jail
def test_what_a_candidate_makes_of_the_assertions_is_its_own_failure(judge: Judge, tmp_path: Path) -> None:
    """Among them: assertions that raise, run for ever and call for ever because of what was answered."""
    gold, *_ = STEERING
    task = asserted(tmp_path / "t", f"def solve(n):\n    {gold}\n", STEERED, settings="calls = 60")
    for body, wanted in STEERING.items():
        verdict = judge.judge(task, {"solution.py": f"def solve(n):\n    {body}\n".encode()})
        seen = " ".join(str(item["outcome"]) for item in verdict.evidence) or "correct"
        assert verdict.status == wanted[0] and wanted[1] in seen, (body, verdict.evidence)


@pytest.mark.jail
def test_calls_are_capped_as_the_task_says(judge: Judge, tmp_path: Path) -> None:
    body = "    for number in range(candidate(0)):\n        assert candidate(1) == 5\n"
    task = asserted(tmp_path / "t", "def solve(n):\n    return 5\n", body, settings="calls = 6")
    assert ended(judge, task, "def solve(n):\n    return 5\n") == ("pass", "correct")
    assert ended(judge, task, "def solve(n):\n    return 6 - n\n") == ("fail", "too_many_calls")


@pytest.mark.jail
def test_what_an_assertion_says_is_not_told(judge: Judge, tmp_path: Path) -> None:
    for number, body in enumerate(
        (
            "    assert candidate(1) == 'the-hidden-marker', 'the-hidden-marker'\n",
            "    marker = 'the-hidden-marker'\n    assert candidate(1) == marker, marker\n",
            "    raise KeyError('the-hidden-marker')\n",
        )
    ):
        gold = "def solve(n):\n    return 'the-hidden-marker'\n"
        task = asserted(tmp_path / str(number), gold, body)
        verdict = judge.judge(task, {"solution.py": IDENTITY.encode()})
        assert verdict.status == ("task_broken" if "KeyError" in body else "fail")
        assert "the-hidden-marker" not in json.dumps(verdict.to_json())


PLAIN = """
    \"\"\"Only data.\"\"\"
    assert candidate(1) == 2, "a message"
    assert candidate([1, (2,)]) != {"a": 3}
    assert candidate(0) is None
    assert candidate("x")
    assert not candidate("")
    assert candidate(1.0) == 2
    assert True
"""
PLAIN_GOLD = """
def solve(thing):
    if thing == 0 and thing is not False:
        return None
    return thing + 1 if type(thing) in (int, float) else thing
"""
MUTANTS = {
    PLAIN_GOLD: "correct",
    PLAIN_GOLD.replace("thing + 1", "thing + 2"): "assertion_failed",
    PLAIN_GOLD.replace("return None", "return 0"): "assertion_failed",
    PLAIN_GOLD.replace("else thing", "else ''"): "assertion_failed",
    PLAIN_GOLD.replace("else thing", "else 'x'"): "assertion_failed",
    PLAIN_GOLD.replace("else thing", "else {'a': 3}"): "assertion_failed",
    PLAIN_GOLD.replace("thing + 1", "True + thing"): "correct",
    PLAIN_GOLD.replace("thing + 1", "thing / 0"): "candidate_raised",
    PLAIN_GOLD.replace("thing + 1", "float('nan')"): "assertion_failed",
    PLAIN_GOLD.replace("thing + 1", "object()"): "unencodable",
    PLAIN_GOLD.replace("thing + 1", "2.0"): "correct",
}


@pytest.mark.jail
def test_assertions_that_are_read_end_as_assertions_that_run(
    yard: Yard, judge: Judge, tmp_path: Path
) -> None:
    read = asserted(tmp_path / "read", PLAIN_GOLD, PLAIN)
    run = asserted(tmp_path / "run", PLAIN_GOLD, PLAIN + "    unused = 1\n")
    for source, outcome in MUTANTS.items():
        assert ended(judge, read, source)[1] == ended(judge, run, source)[1] == outcome, source
    for task, count in ((read, 1), (run, 2)):
        jails = function_tasks.Counting(yard.default)
        function.examine(task, {"solution.py": PLAIN_GOLD.encode()}, jails, 0)
        assert len(jails.opened) == count


LITERALS: list[Any] = [
    None, True, False, 0, 1, -1, 2, 0.0, -0.0, 1.0, 0.5, 1e300, 10**300, math.inf, -math.inf, "", "a", "1", "nan",
    b"", b"a", [], [1], [True], [1.0, "a"], (), (1,), (1.0,), set(), {1}, {True, 2}, {1.0, 2}, frozenset(),
    frozenset({1}), {(1, 2)}, {(True, 2.0)}, {}, {"a": 1}, {"a": True}, {"a": [1.0]}, {1: "a"}, {True: "a"},
    {1.0: "b"}, {"$a": 1}, {"b": 1, "a": 2}, {None: 1}, {(1,): {2}}, {(1.0,): {2.0}}, {"nan": "nan"},
]  # fmt: skip
ANSWERS = [*LITERALS, math.nan, [math.nan], (math.nan,), {"a": math.nan}]


def test_trees_are_equal_and_true_exactly_when_their_values_are() -> None:
    for one in ANSWERS:
        assert is_true(encode(one)) == bool(one), one
        for other in LITERALS:
            wanted = decode(encode(one)) == decode(encode(other))
            assert are_equal(encode(one), encode(other)) == wanted, (one, other)


def test_a_forged_set_is_compared_without_being_built() -> None:
    """Numbers of one hash: as a set or dict they would take this process the square of their count."""
    colliding = [number * (2**61 - 1) for number in range(20_000)]
    forged = [{"$set": colliding}, {"$dict": [[number, 1] for number in colliding]}]
    for tree in map(normal, forged):
        assert are_equal(tree, tree)
        assert not are_equal(tree, encode({1, 2}))
    assert are_equal(normal({"$set": [1, 1.0]}), encode({1}))


NOT_PLAIN = [
    "    for n in range(2):\n        assert candidate(n) == n\n",
    "    assert candidate(x) == 1\n",
    "    assert candidate(1) == x\n",
    "    assert candidate(1) < 3\n",
    "    assert candidate(1) == 1 == 1\n",
    "    assert candidate(*[1]) == 1\n",
    "    assert candidate(n=1) == 1\n",
    "    assert candidate(1) is 1\n",
    "    assert other(1) == 1\n",
    "    assert candidate(1)[0] == 1\n",
    "    assert 1 == candidate(1)\n",
    "    assert False\n",
    "    candidate(1)\n",
    "    return\n",
]


@pytest.mark.parametrize("body", NOT_PLAIN)
def test_what_is_more_than_data_is_not_read(body: str) -> None:
    assert (
        assertions(f"def check(candidate):\n    assert candidate(1) == 1\n{body}".encode(), "check") is None
    )


@pytest.mark.parametrize(
    "module",
    [
        "print(1)\ndef check(candidate):\n    assert candidate(1)\n",
        "@print\ndef check(candidate):\n    assert candidate(1)\n",
        "def check(candidate, n=print()):\n    assert candidate(1)\n",
        "def check(candidate):\n    assert candidate(1)\ncheck = print\n",
        "def check(candidate):\n    assert candidate(1)\ndef check(candidate):\n    assert candidate(2)\n",
        "class Thing:\n    pass\ndef check(candidate):\n    assert candidate(1)\n",
    ],
)
def test_a_module_that_does_more_is_not_read(module: str) -> None:
    assert assertions(module.encode(), "check") is None


@pytest.mark.jail
def test_an_audit_watches_the_candidate_and_not_the_tester(judge: Judge, tmp_path: Path) -> None:
    pytest.importorskip("ptrace")
    task = asserted(tmp_path / "t", IDENTITY, LOOP)
    artefacts = {"solution.py": IDENTITY.encode()}
    verdict = judge.judge(task, artefacts)
    audited = judge.audit(task, artefacts, verdict, Witness)
    assert audited.audit is not None and audited.audit["status"] == "pass", audited.audit
    opened = json.dumps(audited.audit["opened"])
    assert "/job/solution.py" in opened and "check.py" not in opened
