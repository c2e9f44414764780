"""Twins as text: what each form does with programs that are right, wrong, or odd. Run here, without a jail: the
programs are this file's own."""

from __future__ import annotations

import ast
import contextlib
import random
import sys
import types
import unittest
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from appliance.kinds.repo_stock import Stock, absurd, spoiled
from appliance.kinds.repo_suite import Answers, Question, by_test, contradicts, is_right
from appliance.kinds.repo_suite import every_form as every_form_of
from appliance.kinds.repo_tree import Listed
from appliance.kinds.repo_twins import CONTRADICTIONS, NAME, PASSES, TwinFault, group, literals

SUITE = """
import contextlib
import unittest
from program import f, guard


class ATest(unittest.TestCase):
    def setUp(self):
        self.one = 1

    def test_literal(self):
        self.assertEqual(f(2), 4)

    def test_two(self):
        self.assertEqual(f(1), 1)
        self.assertEqual([f(2), f(3)], [4, 9])

    def test_raises(self):
        with self.assertRaises(ValueError) as caught:
            f(-1)
        self.assertIn("minus", str(caught.exception))

    def test_loop(self):
        for number in f.__dict__.get("numbers", (1, 2, 3)):
            self.assertEqual(f(number), number * number)

    def test_early(self):
        if f(0) != 0:
            return
        self.assertEqual(f(5), 25)

    def test_guarded(self):
        with guard():
            self.assertEqual(f(4), 16)

    def test_sub(self):
        for number in (6, 7):
            with self.subTest(number):
                self.assertEqual(f(number), number**2)

    def test_truth(self):
        self.assertTrue(f(1))

    def test_none(self):
        self.assertIsNotNone(f(9))

    def test_float(self):
        self.assertAlmostEqual(f(0.5), 0.25)

    def test_count(self):
        self.assertCountEqual([f(1), f(2)], [4, 1])

    def test_helper(self):
        self.check(3, 9)

    def check(self, number, wanted):
        self.assertEqual(f(number), wanted)

    async def test_other(self):
        return 1


class BTest(unittest.IsolatedAsyncioTestCase):
    async def test_async(self):
        self.assertEqual(f(8), 64)


def test_plain():
    assert f(3) == 9
    assert not f(0)
    assert f(2) in (4, 5)
"""
TESTS = [
    (owner.name, test.name)
    for owner in ast.parse(SUITE).body
    if isinstance(owner, ast.ClassDef)
    for test in owner.body
    if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef)
    if test.name.startswith("test") and test.name != "test_other"
] + [("", "test_plain")]


def right(number: Any) -> Any:
    if number < 0:
        raise ValueError("a minus")
    return number * number


class Near(int):
    """Equal to what is near."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int) and abs(int(self) - int(other)) < 3

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__


def _with_numbers(*numbers: int) -> Callable[[Any], Any]:
    def f(number: Any) -> Any:
        return right(number)

    f.numbers = numbers  # type: ignore[attr-defined]
    return f


def _raising(kind: type[BaseException]) -> Callable[[Any], Any]:
    def f(number: Any) -> Any:
        raise kind("a minus")

    return f


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "right": right,
    "nothing to loop over": _with_numbers(),
    "off by one": lambda number: right(number) + 1,
    "nothing": lambda number: None,
    "constant": lambda number: 4,
    "truth": lambda number: True,
    "text": lambda number: str(number),
    "near": lambda number: Near(right(number)),
    "a value error": _raising(ValueError),
    "a failed assertion": _raising(AssertionError),
    "a skip": _raising(unittest.SkipTest),
    "an exit": _raising(SystemExit),
    "of two kinds": _raising(type("E", (ValueError, KeyError, TypeError), {})),
    "nan": lambda number: float("nan"),
}
GUARDS: dict[str, Callable[[], Any]] = {
    "plain": contextlib.nullcontext,
    "swallowing": lambda: contextlib.suppress(BaseException),
}


def forms(owner: str, name: str, given: tuple[Any, ...] = ()) -> list[tuple[Any, str]]:
    twins = group(SUITE, owner, name, Stock((16, 25, [1, 2], 7.5), given, random.Random(1)))
    return every_form_of(twins)


def passes(text: str, owner: str) -> bool:
    """Run the one test of a module as the runner does."""
    module = types.ModuleType("case")
    sys.modules["case"] = module
    exec(compile(text, "case", "exec"), module.__dict__)
    case = module.__dict__[owner](NAME) if owner else unittest.FunctionTestCase(module.__dict__[NAME])
    result = unittest.TestResult()
    unittest.TestSuite([case]).run(result)
    odd = (
        result.errors,
        result.failures,
        result.skipped,
        result.expectedFailures,
        result.unexpectedSuccesses,
    )
    return result.testsRun == 1 and not any(odd)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    module = types.ModuleType("program")
    module.f, module.guard = right, contextlib.nullcontext  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "program", module)
    yield module
    sys.modules.pop("case", None)


@pytest.mark.parametrize(("owner", "name"), TESTS, ids=[name for _, name in TESTS])
def test_a_right_program_ends_every_form_as_it_must(program: Any, owner: str, name: str) -> None:
    for form, text in forms(owner, name):
        assert passes(text, owner) == PASSES[form], text


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("which", PROGRAMS)
def test_no_program_contradicts_itself(program: Any, which: str, guard: str) -> None:
    program.f, program.guard = PROGRAMS[which], GUARDS[guard]
    for owner, name in TESTS:
        ended: dict[str, list[bool]] = {}
        for form, text in forms(owner, name):
            ended.setdefault(form, []).append(passes(text, owner))
        for one, other in CONTRADICTIONS:
            honest = (one, other) == ("true", "wrong") and which in ("near", "of two kinds")
            both = any(ended.get(one, ())) and any(ended.get(other, ()))
            # Of the wrong forms only those of one draw belong together.
            drawn_alike = (one, other) != ("wrong", "negated_wrong")
            pairs = zip(ended.get(one, ()), ended.get(other, ()), strict=False)
            assert honest or not (both if drawn_alike else any(map(all, pairs))), (name, one, other)


def test_most_tests_have_a_wrong_form_and_some_cannot() -> None:
    weak = {name for owner, name in TESTS if "wrong" not in {form for form, _ in forms(owner, name)}}
    assert weak == {"test_loop", "test_early", "test_guarded", "test_sub", "test_helper"}


def test_a_text_holds_one_test_and_no_name_of_it() -> None:
    for owner, name in TESTS:
        for _, text in forms(owner, name):
            found = [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
            assert not {other for _, other in TESTS} & set(found)
            assert text.count(f"def {NAME}(") == 1


def test_wrong_values_of_the_author_come_first() -> None:
    texts = [text for form, text in forms("ATest", "test_literal", (77,)) if form == "wrong"]
    assert "77" in texts[0]


def test_what_cannot_be_twinned_is_refused() -> None:
    stock = Stock((), (), random.Random(0))
    for text, said in (
        ("def test_a():\n    yield 1\n", "generator"),
        ("def test_b():\n    pass\n", "0 times"),
        ("def test_a(): pass\ndef test_a(): pass\n", "2 times"),
        ("def test_a(:", "invalid syntax"),
    ):
        with pytest.raises(TwinFault, match=said):
            group(text, "", "test_a", stock)


@pytest.mark.parametrize(
    "value",
    [0, 1, True, -3, 1.5, 0.0, "", "ab", b"", b"x", None, [], [1], [[2]], (), (1, "a"), {}, {"a": 1}, {1, 2}],
    ids=repr,
)
def test_wrong_values_are_wrong(value: Any) -> None:
    stock = Stock((5, "x", [3], 2.5), (), random.Random(2))
    found = stock.wrong(value, loose=False)
    assert found
    assert all(item != value for item in [*found, absurd(value, random.Random(3))])
    assert any(type(item) is type(value) for item in spoiled(value)) or value is None


def test_order_is_not_wrong_where_it_does_not_count() -> None:
    stock = Stock(([2, 1],), (), random.Random(0))
    assert [2, 1] in stock.wrong([1, 2], loose=False)
    assert [2, 1] not in stock.wrong([1, 2], loose=True)


def test_the_values_of_a_test_are_found() -> None:
    assert list(literals(SUITE, "ATest", "test_two")) == [1, [4, 9]]
    assert list(literals(SUITE, "ATest", "test_loop")) == []


def test_only_the_whole_pattern_is_right() -> None:
    good = {"true": "passed", "wrong": "failed", "negated_wrong": "passed"}
    assert is_right(good)
    for change in (
        {"true": "failed"},
        {"wrong": "passed"},
        {"negated_wrong": "failed"},
        {"wrong": "missing"},
        {"wrong": "skipped"},
        {"true": "skipped"},
    ):
        assert not is_right({**good, **change})
    assert not is_right({"true": "passed"})
    assert not is_right({})


def test_only_a_contradiction_is_one() -> None:
    assert contradicts({"true": "passed", "wrong": "passed"})
    assert not contradicts({"true": "passed", "wrong": "passed"}, proof=True)
    assert contradicts({"true": "passed", "canary": "passed"}, proof=True)
    assert contradicts({"wrong": "passed", "negated_wrong": "passed"}, proof=True)
    assert not contradicts({"true": "failed", "wrong": "passed", "negated": "passed"})
    assert not contradicts({"true": "missing", "wrong": "missing"})


def test_what_was_asked_often_must_always_have_passed() -> None:
    listed = Listed("a.test_b", "a.py", "", "test_b", "")
    questions = [Question(listed, "", "true", 0)] * 3 + [Question(listed, "", "negated", 0)] * 2
    words = ["passed", "passed", "passed", "failed", "passed"]
    assert by_test(questions, words) == {0: {"true": "passed", "negated": "failed"}}
    answers = Answers()
    answers.note(questions[0], "failed", "AssertionError")
    answers.note(questions[3], "passed", "")
    assert answers.fixed == {0: {"true": "failed", "negated": "passed"}}
    assert answers.texts == {0: "AssertionError"}
