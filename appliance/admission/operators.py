"""Mutation operators on Python: small faults put into a gold solution, one at a time.

The operators are those of mutmut and cosmic-ray that fit small programs: comparisons, arithmetic, boolean logic,
constants, branches, guards, loops, statements, exceptions, calls, slices and filters. Annotations and docstrings are
left alone. Pure: equal source, equal mutants in equal order.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "upper": "lower", "lower": "upper"}
_SKIPPED = {"annotation", "returns", "type_comment", "type_params"}
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: where it is, what it was and became, and the whole source with it."""

    operator: str
    line: int
    before: str
    after: str
    source: str


def mutants(source: str) -> list[Mutant]:
    """Every mutant of a Python source that differs from it and from the others. Raises SyntaxError."""
    tree = ast.parse(source)
    plain = ast.unparse(tree)
    seen, found = {plain}, []
    for place, node in enumerate(_sites(tree)):
        for operator, after in _changes(node):
            text = ast.unparse(ast.fix_missing_locations(_with(tree, place, after)))
            if text in seen or not _parses(text):
                continue
            seen.add(text)
            before = _short(node)
            found.append(Mutant(operator, getattr(node, "lineno", 0), before, _short(after), text + "\n"))
    return found


def _sites(tree: ast.AST) -> list[ast.AST]:
    """Expressions and statements in the order of the text, without annotations and docstrings."""
    found: list[ast.AST] = []
    for name, value in ast.iter_fields(tree):
        if name in _SKIPPED:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_docstring(child):
                if isinstance(child, ast.expr | ast.stmt | ast.comprehension):
                    found.append(child)
                found.extend(_sites(child))
    return found


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _with(tree: ast.Module, place: int, after: ast.AST) -> ast.AST:
    """A copy of the tree in which the site at `place` is another node."""
    fresh = copy.deepcopy(tree)
    target = _sites(fresh)[place]

    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return after if node is target else self.generic_visit(node)

    swapped: ast.AST = Swap().visit(fresh)
    return swapped


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for kinds, change in _OPERATORS:
        if isinstance(node, kinds):
            yield from change(node)


def _changed(node: Any, **fields: Any) -> Any:
    fresh = copy.deepcopy(node)
    for name, value in fields.items():
        setattr(fresh, name, value)
    return fresh


def _compare(node: ast.Compare) -> Iterator[tuple[str, ast.AST]]:
    for place, op in enumerate(node.ops):
        for other in _COMPARE.get(type(op), ()):
            yield "comparison", _changed(node, ops=[*node.ops[:place], other(), *node.ops[place + 1 :]])


def _arithmetic(node: ast.BinOp) -> Iterator[tuple[str, ast.AST]]:
    other = _ARITHMETIC.get(type(node.op))
    if other is not None:
        yield "arithmetic", _changed(node, op=other())
    if isinstance(node.op, _ORDERED):
        yield "swapped operands", _changed(node, left=node.right, right=node.left)


def _boolean(node: ast.BoolOp) -> Iterator[tuple[str, ast.AST]]:
    yield "boolean", _changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    for place in range(len(node.values)):
        rest = [*node.values[:place], *node.values[place + 1 :]]
        yield "dropped condition", copy.deepcopy(rest[0]) if len(rest) == 1 else _changed(node, values=rest)


def _unary(node: ast.UnaryOp) -> Iterator[tuple[str, ast.AST]]:
    if not isinstance(node.op, ast.UAdd):
        yield "dropped sign" if isinstance(node.op, ast.USub) else "dropped not", copy.deepcopy(node.operand)


def _constant(node: ast.Constant) -> Iterator[tuple[str, ast.AST]]:
    match node.value:
        case bool(value):
            yield "constant", ast.Constant(not value)
        case int(value) | float(value):
            yield "off by one", ast.Constant(value + 1)
            yield "off by one", ast.Constant(value - 1)
        case str(value):
            yield "constant", ast.Constant("" if value else "x")


def _branch(node: ast.If) -> Iterator[tuple[str, ast.AST]]:
    yield "inverted branch", _changed(node, test=ast.UnaryOp(ast.Not(), node.test))
    if not node.orelse:
        yield "removed guard", ast.Pass()


def _choice(node: ast.IfExp) -> Iterator[tuple[str, ast.AST]]:
    yield "inverted branch", _changed(node, body=node.orelse, orelse=node.body)


def _statement(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    yield "removed statement", ast.Pass()


def _loop(node: ast.For | ast.While) -> Iterator[tuple[str, ast.AST]]:
    yield "removed loop", ast.Pass()


def _return(node: ast.Return) -> Iterator[tuple[str, ast.AST]]:
    if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield "return value", ast.Return(ast.Constant(None))


def _raise(node: ast.Raise) -> Iterator[tuple[str, ast.AST]]:
    other = "LookupError" if "RuntimeError" in ast.unparse(node) else "RuntimeError"
    yield "exception type", ast.Raise(ast.Name(other, ast.Load()), None)


def _name(node: ast.Name) -> Iterator[tuple[str, ast.AST]]:
    if node.id in _NAMES:
        yield "other function", _changed(node, id=_NAMES[node.id])


def _attribute(node: ast.Attribute) -> Iterator[tuple[str, ast.AST]]:
    if node.attr in _NAMES:
        yield "other function", _changed(node, attr=_NAMES[node.attr])


def _call(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    if len(node.args) == 2 and not any(isinstance(arg, ast.Starred) for arg in node.args):
        yield "swapped operands", _changed(node, args=node.args[::-1])
    for place in range(len(node.keywords)):
        yield "dropped option", _changed(node, keywords=[*node.keywords[:place], *node.keywords[place + 1 :]])


def _slice(node: ast.Slice) -> Iterator[tuple[str, ast.AST]]:
    for name in ("lower", "upper", "step"):
        if getattr(node, name) is not None:
            yield "dropped bound", _changed(node, **{name: None})


def _filter(node: ast.comprehension) -> Iterator[tuple[str, ast.AST]]:
    if node.ifs:
        yield "dropped condition", _changed(node, ifs=[])


_OPERATORS: tuple[tuple[Any, Any], ...] = (
    (ast.Compare, _compare),
    (ast.BinOp, _arithmetic),
    (ast.BoolOp, _boolean),
    (ast.UnaryOp, _unary),
    (ast.Constant, _constant),
    (ast.If, _branch),
    (ast.IfExp, _choice),
    ((ast.Assign, ast.AugAssign, ast.Expr, ast.Break, ast.Continue), _statement),
    ((ast.For, ast.While), _loop),
    (ast.Return, _return),
    (ast.Raise, _raise),
    (ast.Name, _name),
    (ast.Attribute, _attribute),
    (ast.Call, _call),
    (ast.Slice, _slice),
    (ast.comprehension, _filter),
)
