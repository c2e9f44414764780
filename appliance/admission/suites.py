"""The names that hidden tests of a code base ask of it: what they import, call, catch and pass by keyword."""

from __future__ import annotations

import ast
import builtins
import json
import sys
import unittest
import unittest.mock
from collections.abc import Iterator, Mapping

_COMMON = frozenset(
    name
    for kind in (
        str,
        bytes,
        list,
        dict,
        set,
        int,
        float,
        tuple,
        BaseException,
        unittest.TestCase,
        unittest.mock.Mock,
    )
    for name in dir(kind)
) | frozenset(dir(builtins))
_HELP = (
    "exception",
    "value",
    "raises",
    "fixture",
    "mark",
    "parametrize",
    "approx",
    "match",
    "tmp_path",
    "capsys",
)


def required_names(suite: Mapping[str, str], probes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(what it is, name) for test files by path and files of probes, but for names that the tests define."""
    trees = [ast.parse(text) for name, text in suite.items() if name.endswith(".py")]
    own = set().union(*(set(_defined(tree)) for tree in trees), set())
    for tree in trees:
        standard = set(_standard(tree))
        for what, name in _used(tree, standard):
            if name not in own and name not in _COMMON and name not in _HELP and not name.startswith("__"):
                yield what, name
    for text in probes.values():
        for row in json.loads(text):
            module, _, name = row["call"].partition(":")
            yield from (("module", part) for part in module.split("."))
            yield from (("function", part) for part in name.split("."))


def _defined(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def _standard(tree: ast.AST) -> Iterator[str]:
    """What the names of the standard library and of the tests' own framework are called here."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (
                (alias.asname or alias.name).partition(".")[0]
                for alias in node.names
                if _is_standard(alias.name)
            )
        elif isinstance(node, ast.ImportFrom) and _is_standard(node.module or "."):
            yield from (alias.asname or alias.name for alias in node.names)


def _is_standard(module: str) -> bool:
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or top in ("pytest", "tests")


def _used(tree: ast.AST, standard: set[str]) -> Iterator[tuple[str, str]]:
    foreign = {id(node) for node in _of_standard(tree, standard)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not _is_standard(node.module or "."):
            yield from (("module", part) for part in (node.module or "").split(".") if part)
            yield from (("name", alias.name) for alias in node.names if alias.name != "*")
        elif isinstance(node, ast.Import):
            yield from (
                ("module", part)
                for alias in node.names
                if not _is_standard(alias.name)
                for part in alias.name.split(".")
            )
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and id(node) not in foreign:
            yield "attribute", node.attr
        elif isinstance(node, ast.Call) and id(node.func) not in foreign and not _is_common(node.func):
            yield from (("parameter", word.arg) for word in node.keywords if word.arg)


def _of_standard(tree: ast.AST, standard: set[str]) -> Iterator[ast.AST]:
    """Attributes and names that lead into the standard library."""
    for node in ast.walk(tree):
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute | ast.Call | ast.Subscript):
            inner = inner.func if isinstance(inner, ast.Call) else inner.value
        if isinstance(inner, ast.Name) and inner.id in standard:
            yield node


def _is_common(function: ast.AST) -> bool:
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    return name in _COMMON or name in _HELP
