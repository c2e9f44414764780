"""Secret twins of hidden tests, made through the syntax tree; here is only text, nothing is run.

A test alone proves nothing where the candidate shares its process: a forged report says "passed" whatever ran. So each
test is run in several forms, and only the judge knows which of them must fail:

- `true`: the test itself;
- `wrong`: one assertion demands a wrong value or the opposite. Whoever looks at it cannot tell it from the true
  one without knowing the answer;
- `negated` and `negated_wrong`: the same two, which pass exactly when that assertion does not hold. Both exist, so
  that being negated says nothing about having to fail;
- `canary`: demands a random value, to find out what a suspect accepts.

No deterministic program passes both forms of a pair in `CONTRADICTIONS`, however wrong it is. That rests on these
rules: a statement is negated whole and at the top of the test, so that a loop which never runs, a context that
swallows exceptions or an early return cannot pass it; a value is made wrong only in an assertion that is reached
whenever the test passes, and only where it is compared by an operator that has no other for its negation. An operator
of the candidate's own that holds for several values is the one way to pass `true` and `wrong` honestly: `PROOFS`
leaves it out.

A test without a wrong form tells a reader which half must fail; such tests count only against blind forgery.
"""

from __future__ import annotations

import ast
import builtins
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from appliance.kinds.repo_stock import Stock, absurd

Form = Literal["true", "wrong", "negated", "negated_wrong", "canary"]

PASSES: Mapping[Form, bool] = {
    "true": True,
    "wrong": False,
    "negated": False,
    "negated_wrong": True,
    "canary": False,
}
"""How each form must end for a right solution."""
CONTRADICTIONS: tuple[tuple[Form, Form], ...] = (
    ("true", "wrong"),
    ("true", "negated"),
    ("wrong", "negated_wrong"),
    ("true", "canary"),
)
"""Forms that cannot both pass."""
PROOFS = CONTRADICTIONS[1:]
"""Those that no operator of the candidate's own explains."""

NAME = "test_NAME_OF_THIS_TEST"
"""Stands for the name that a judging draws."""
_HELD = "held"
ALTERNATIVES = 4
"""Wrong forms that are kept of one test."""

_EQUALITIES = frozenset(
    {
        "assertEqual",
        "assertListEqual",
        "assertTupleEqual",
        "assertSetEqual",
        "assertDictEqual",
        "assertSequenceEqual",
        "assertMultiLineEqual",
        "assertCountEqual",
        "assertAlmostEqual",
    }
)
_OPPOSITES = {
    "assertTrue": "assertFalse",
    "assertIsNone": "assertIsNotNone",
    "assertIn": "assertNotIn",
    "assertIs": "assertIsNot",
    "assertIsInstance": "assertNotIsInstance",
    "assertRegex": "assertNotRegex",
}
_OPPOSITES |= {other: one for one, other in _OPPOSITES.items()}
_EXCEPTIONS = (
    "ValueError",
    "TypeError",
    "KeyError",
    "IndexError",
    "AttributeError",
    "ZeroDivisionError",
    "OSError",
)
_RAISES = frozenset({"assertRaises", "assertRaisesRegex", "raises"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class TwinFault(ValueError):
    """A test that cannot be found, or whose twin cannot be made."""


@dataclass(frozen=True, slots=True)
class Group:
    """One test in all its forms; each text is a module that holds this test alone, named `NAME`."""

    true: str
    negated: str
    wrong: tuple[tuple[str, str], ...]
    """Each wrong form and its negation."""
    canary: str
    """A wrong form with a value that has not been seen before; empty where there is none."""


@dataclass(frozen=True, slots=True)
class _Spot:
    """Something an assertion demands: where it stands, and the nodes that may stand there instead."""

    statement: int
    holder: ast.AST
    field: str
    place: int | None
    """Position in the field, when that is a list."""
    wrong: tuple[ast.AST, ...]
    absurd: ast.AST
    """What nothing but a cheat accepts in that place."""

    @contextmanager
    def holding(self, node: ast.AST) -> Iterator[None]:
        """With another node in that place."""
        held = getattr(self.holder, self.field)
        other = node if self.place is None else [*held[: self.place], node, *held[self.place + 1 :]]
        setattr(self.holder, self.field, other)
        try:
            yield
        finally:
            setattr(self.holder, self.field, held)

    @property
    def node(self) -> ast.AST:
        held = getattr(self.holder, self.field)
        found: ast.AST = held if self.place is None else held[self.place]
        return found


def find(tree: ast.Module, owner: str, name: str) -> tuple[list[ast.stmt], _Function]:
    """The test of that name and the body it stands in; TwinFault when it is not written there."""
    body: list[ast.stmt] = tree.body
    if owner:
        classes = [node for node in body if isinstance(node, ast.ClassDef) and node.name == owner]
        if len(classes) != 1:
            raise TwinFault(f"class {owner} is there {len(classes)} times")
        body = classes[0].body
    found = [node for node in body if isinstance(node, _Function) and node.name == name]
    if len(found) != 1:
        raise TwinFault(f"{name} is there {len(found)} times")
    return body, found[0]


def alone(text: str, owner: str, name: str) -> str:
    """The module with this test only, named `NAME`."""
    return ast.unparse(_isolated(text, owner, name)[0])


def _isolated(text: str, owner: str, name: str) -> tuple[ast.Module, list[ast.stmt], _Function]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise TwinFault(str(error)) from None
    _, function = find(tree, owner, name)
    for holder in _holders(tree):
        holder.body = [node for node in holder.body if node is function or not _is_test(node)] or [ast.Pass()]
    function.name = NAME
    return tree, next(holder.body for holder in _holders(tree) if function in holder.body), function


def _holders(tree: ast.Module) -> Iterator[ast.Module | ast.ClassDef]:
    yield tree
    yield from (node for node in tree.body if isinstance(node, ast.ClassDef))


def _is_test(node: ast.stmt) -> bool:
    return isinstance(node, _Function) and node.name.startswith("test")


def group(text: str, owner: str, name: str, stock: Stock) -> Group:
    """All forms of one test; TwinFault when it is a generator or is not there."""
    tree, body, function = _isolated(text, owner, name)
    inside = list(_own_nodes(function))
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in inside):
        raise TwinFault(f"{name} is a generator")
    returns = any(isinstance(node, ast.Return) for node in inside)
    spots = [] if returns else list(_spots(function, stock))
    true = ast.unparse(tree)
    negated = _negated(tree, body, function, _last_assertion(function))
    wrong = []
    for spot, node in _chosen(spots):
        with spot.holding(node):
            wrong.append((ast.unparse(tree), _negated(tree, body, function, spot.statement)))
    canary = ""
    if wrong:
        with spots[-1].holding(spots[-1].absurd):
            canary = ast.unparse(tree)
    return Group(true, negated, tuple(wrong), canary)


def _chosen(spots: Sequence[_Spot]) -> list[tuple[_Spot, ast.AST]]:
    """A few wrong nodes, from as many assertions as there are; the last assertion first."""
    turns = [(turn, spot, node) for spot in reversed(spots) for turn, node in enumerate(spot.wrong)]
    return [(spot, node) for _, spot, node in sorted(turns, key=lambda found: found[0])][:ALTERNATIVES]


def _own_nodes(function: _Function) -> Iterator[ast.AST]:
    """What a function does itself, without what is defined in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _Function | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


def _last_assertion(function: _Function) -> int:
    """The last statement of a test that asserts something; the last of all when none does."""
    for index in range(len(function.body) - 1, -1, -1):
        if any(map(_asserts, ast.walk(function.body[index]))):
            return index
    return len(function.body) - 1


def _asserts(node: ast.AST) -> bool:
    return isinstance(node, ast.Assert) or (
        isinstance(node, ast.Call) and _called(node).startswith(("assert", "fail", "raises"))
    )


def _called(node: ast.AST) -> str:
    called = node.func if isinstance(node, ast.Call) else None
    return (
        called.attr
        if isinstance(called, ast.Attribute)
        else called.id
        if isinstance(called, ast.Name)
        else ""
    )


def _negated(tree: ast.Module, body: list[ast.stmt], function: _Function, index: int) -> str:
    """The module as text with a test that passes exactly when statement `index` of it does not hold."""
    place, statement = body.index(function), function.body[index]
    leave = ast.Return(ast.Constant(_HELD))
    catch = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [leave])
    function.body[index] = ast.Try([statement], [catch], [], [])
    function.name = f"_{NAME}"
    body.insert(place + 1, _wrapper(function, body is not tree.body))
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    finally:
        function.body[index], function.name = statement, NAME
        del body[place + 1]


def _wrapper(function: _Function, method: bool) -> ast.stmt:
    """The test that calls the negated one. What pytest gives to a test, it must be given, and pass on."""
    waits = isinstance(function, ast.AsyncFunctionDef)
    marks = [item for item in function.decorator_list if ast.unparse(item).startswith("pytest.")]
    names = (
        [item.arg for item in function.args.args][int(method) :] if marks == function.decorator_list else []
    )
    called = f"{'self.' if method else ''}_{NAME}({', '.join(f'{name}={name}' for name in names)})"
    text = (
        f"{'async ' if waits else ''}def {NAME}({', '.join([*(['self'] if method else []), *names])}):\n"
        f"    if {'await ' if waits else ''}{called} != {_HELD!r}:\n"
        f"        raise AssertionError\n"
    )
    (wrapper,) = ast.parse(text).body
    assert isinstance(wrapper, _Function)
    wrapper.decorator_list = marks
    return wrapper


def _spots(function: _Function, stock: Stock) -> Iterator[_Spot]:
    """Only of statements at the top of the test: those are reached whenever the test passes."""
    for index, statement in enumerate(function.body):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            yield from _spots_of_call(index, statement.value, stock)
        elif isinstance(statement, ast.Assert):
            yield _spot_of_assert(index, statement, stock)
        elif isinstance(statement, ast.With) and isinstance(
            call := statement.items[0].context_expr, ast.Call
        ):
            yield from _spots_of_raises(index, call, stock)


def _spots_of_call(index: int, call: ast.Call, stock: Stock) -> Iterator[_Spot]:
    name = _called(call)
    if name in _EQUALITIES and len(call.args) >= 2 and not any(item.arg == "delta" for item in call.keywords):
        for place in (1, 0):
            if _is_literal(call.args[place]):
                yield _spot_of_literal(index, call, "args", place, stock, loose=name == "assertCountEqual")
                return
    elif name in _OPPOSITES and isinstance(call.func, ast.Attribute):
        other = ast.Attribute(call.func.value, _OPPOSITES[name], ast.Load())
        yield _Spot(index, call, "func", None, (other,), other)
    else:
        yield from _spots_of_raises(index, call, stock)


def _spot_of_assert(index: int, statement: ast.Assert, stock: Stock) -> _Spot:
    test = statement.test
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        if _is_literal(test.comparators[0]):
            return _spot_of_literal(index, test, "comparators", 0, stock)
        if _is_literal(test.left):
            return _spot_of_literal(index, test, "left", None, stock)
    # `not` around the same operator; another operator may be another function of the candidate's.
    inverse: ast.expr = ast.UnaryOp(ast.Not(), test)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inverse = test.operand
    return _Spot(index, statement, "test", None, (inverse,), inverse)


def _spots_of_raises(index: int, call: ast.Call, stock: Stock) -> Iterator[_Spot]:
    if _called(call) not in _RAISES or not call.args or not isinstance(call.args[0], ast.Name):
        return
    right = getattr(builtins, call.args[0].id, None)
    if not (isinstance(right, type) and issubclass(right, Exception)):
        return
    others = [name for name in _EXCEPTIONS if _unrelated(right, getattr(builtins, name))]
    stock.draw.shuffle(others)
    fresh = f"type('E{stock.draw.getrandbits(64):x}', (Exception,), {{}})"
    wrong = tuple(ast.Name(name, ast.Load()) for name in others[:2])
    yield _Spot(index, call, "args", 0, wrong, ast.parse(fresh, mode="eval").body)


def _unrelated(one: type, other: type) -> bool:
    return not issubclass(one, other) and not issubclass(other, one)


def _spot_of_literal(
    index: int, holder: ast.AST, field: str, place: int | None, stock: Stock, *, loose: bool = False
) -> _Spot:
    """`loose`: the comparison does not look at the order of the parts."""
    node = getattr(holder, field)
    right = ast.literal_eval(node if place is None else node[place])
    wrong = tuple(map(_node, stock.wrong(right, loose)))
    return _Spot(index, holder, field, place, wrong, _node(absurd(right, stock.draw)))


def _is_literal(node: ast.AST) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return not isinstance(node, ast.Set) or bool(node.elts)


def _node(value: Any) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body


def literals(text: str, owner: str, name: str) -> Iterator[Any]:
    """The values that a test compares with, to be wrong ones of other tests."""
    _, function = find(ast.parse(text), owner, name)
    for spot in _spots(function, Stock((), (), random.Random(0))):
        if _is_literal(spot.node):
            yield ast.literal_eval(spot.node)
