"""Assertions that are only data: `assert candidate(1, [2]) == 3`, read and compared here instead of run in a jail.

Most test code in the manner of HumanEval says nothing else. Where every statement of the check is such an assertion
about literals, reading it means the same as running it, costs no tester jail, and nothing of the task is executed.
Any other statement leaves the whole check to the tester. The comparison is Python's own, as the author wrote it
(True is 1, and 1 is 1.0), but on trees: a set or a dict that a candidate chose, with hashes that collide, is never
built in this process.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from typing import Literal

from appliance import values
from appliance.kinds.function_tester import tree_of

Demand = Literal["equal", "unequal", "same", "true", "false"]

_COMPARED: dict[type[ast.cmpop], Demand] = {ast.Eq: "equal", ast.NotEq: "unequal", ast.Is: "same"}
_SINGLE = (None, True, False)


@dataclass(frozen=True, slots=True)
class Assertion:
    """One call and what its answer must be."""

    args: list[values.Tree]
    demand: Demand
    literal: values.Tree = None

    def holds(self, answer: values.Tree) -> bool:
        """`answer`: a tree in normal form."""
        if self.demand in ("true", "false"):
            return is_true(answer) == (self.demand == "true")
        if self.demand == "same":
            return answer is self.literal
        return are_equal(answer, self.literal) == (self.demand == "equal")


class _Nan(Exception):
    """A value that equals nothing, not even itself."""


def is_true(tree: values.Tree) -> bool:
    """`bool(value)` of a tree in normal form."""
    if type(tree) is dict:
        tag, body = next(iter(tree.items()), ("", None))
        return bool(body) if tag.startswith("$") else bool(tree)
    return bool(tree)


def are_equal(one: values.Tree, other: values.Tree) -> bool:
    """`value == other value` of two trees in normal form."""
    try:
        return bool(_loose(one) == _loose(other))
    except _Nan:
        return False


def _loose(tree: values.Tree) -> values.Tree:
    """A tree that is the same for all values that Python calls equal."""
    if type(tree) is list:
        return [_loose(item) for item in tree]
    if type(tree) is dict:
        tag, body = next(iter(tree.items()), ("", None))
        return _loose_tagged(tag, body) if tag.startswith("$") else {k: _loose(v) for k, v in tree.items()}
    if type(tree) is bool or (type(tree) is float and tree.is_integer()):
        return int(tree)
    return tree


def _loose_tagged(tag: str, body: values.Tree) -> values.Tree:
    if body == "nan":
        raise _Nan
    if tag in ("$set", "$frozenset"):
        return {"$set": sorted({values.dumps(_loose(item)) for item in body})}
    if tag == "$dict":
        return {tag: sorted({values.dumps(_loose(key)): _loose(item) for key, item in body}.items())}
    return {tag: _loose(body)}


class _Other(Exception):
    """A statement that is more than data."""


@functools.lru_cache(maxsize=512)
def assertions(source: bytes, name: str) -> tuple[Assertion, ...] | None:
    """The assertions of the function `name`, when there is nothing else in it; None leaves it to a tester."""
    try:
        tree = ast.parse(source)
        checks = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
        if len(checks) != 1 or not all(map(_is_inert, tree.body)):
            return None
        found = [_assertion(node, _parameter(checks[0])) for node in checks[0].body]
        return tuple(assertion for assertion in found if assertion is not None)
    except (_Other, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_inert(node: ast.stmt) -> bool:
    """Whether a statement of the module can change nothing about the check."""
    if isinstance(node, ast.FunctionDef):
        arguments = node.args
        return not (node.decorator_list or arguments.defaults or any(arguments.kw_defaults))
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Name) for target in node.targets) and _is_literal(node.value)
    return isinstance(node, ast.Import | ast.ImportFrom) or _is_remark(node)


def _is_remark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _parameter(check: ast.FunctionDef) -> str:
    given = check.args
    if len(given.args) != 1 or given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs:
        raise _Other
    return given.args[0].arg


def _assertion(node: ast.stmt, candidate: str) -> Assertion | None:
    """The assertion in a statement; None when it says nothing."""
    if _is_remark(node):
        return None
    if not isinstance(node, ast.Assert):
        raise _Other
    test = node.test
    if isinstance(test, ast.Constant) and test.value is True:
        return None
    if isinstance(test, ast.Compare):
        return _compared(test, candidate)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return Assertion(_arguments(test.operand, candidate), "false")
    return Assertion(_arguments(test, candidate), "true")


def _compared(test: ast.Compare, candidate: str) -> Assertion:
    demand = _COMPARED.get(type(test.ops[0]))
    if len(test.ops) != 1 or demand is None:
        raise _Other
    literal = ast.literal_eval(test.comparators[0])
    if demand == "same" and not any(literal is one for one in _SINGLE):
        raise _Other
    return Assertion(_arguments(test.left, candidate), demand, values.encode(literal))


def _arguments(call: ast.expr, candidate: str) -> list[values.Tree]:
    if not isinstance(call, ast.Call) or call.keywords:
        raise _Other
    if not isinstance(call.func, ast.Name) or call.func.id != candidate:
        raise _Other
    return [tree_of(ast.literal_eval(argument)) for argument in call.args]
