"""Python sources of foreign tasks, parsed and put together anew; nothing here runs them."""

from __future__ import annotations

import ast
import json
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from appliance import values

HARNESS_IMPORTS = "from collections import *\nfrom typing import *\nimport math\n\n\n"
"""What the collections that ask for a `class Solution` import before it."""


class Unfit(Exception):
    """A sound row that cannot be a task here; the text says why."""


def parsed(source: str) -> ast.Module | None:
    """The tree of a source, or None when Python 3 cannot read it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def functions(tree: ast.AST) -> dict[str, ast.FunctionDef]:
    """The functions at the top of a module or class, by name."""
    return {node.name: node for node in getattr(tree, "body", ()) if isinstance(node, ast.FunctionDef)}


def rest_of(source: str, entry: str) -> str:
    """What a source defines beside `entry`, as it is written there: some assertions use it."""
    tree = parsed(source)
    if tree is None:
        raise Unfit("the prompt is no Python 3")
    kept = [node for node in tree.body if getattr(node, "name", "") != entry]
    return "\n\n".join(ast.get_source_segment(source, node) or "" for node in kept)


def imports_only_stdlib(source: str) -> bool:
    """Whether a source can be loaded where nothing but Python is."""
    tree = parsed(source)
    if tree is None:
        return False
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return all(name.partition(".")[0] in sys.stdlib_module_names for name in names)


def called(tests: Sequence[str], defined: Sequence[str]) -> str:
    """The one function of `defined` that the assertions call; Unfit when there is none, or more than one."""
    found: set[str] = set()
    for test in tests:
        tree = parsed(test)
        if tree is None:
            raise Unfit("an assertion is no Python 3")
        found |= _called(tree) & set(defined)
    if len(found) != 1:
        raise Unfit(f"the assertions call {len(found)} functions of the gold solution, not one")
    return found.pop()


def _called(tree: ast.AST) -> set[str]:
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {func.id for func in calls if isinstance(func, ast.Name)}


def start_of(function: ast.FunctionDef, text: str) -> str:
    """The head of a function with `text` as its docstring: what a candidate continues."""
    bare = ast.FunctionDef(
        name=function.name, args=function.args, body=[ast.Pass()], decorator_list=[], returns=function.returns
    )
    head = ast.unparse(ast.fix_missing_locations(bare)).rpartition("\n")[0]
    quoted = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"').strip()
    quoted = quoted + " " if quoted.endswith('"') else quoted
    return f'{head}\n    """{quoted}"""\n'.replace("\r", "")


def as_function(source: str, entry: str) -> str:
    """A solution that defines `entry`, or a `class Solution` with it, as a module with that function at its top."""
    tree = parsed(source)
    if tree is None:
        raise Unfit("the gold solution is no Python 3")
    if entry in functions(tree):
        return source
    if method(tree, entry) is None:
        raise Unfit(f"the gold solution does not define {entry}")
    return f"{HARNESS_IMPORTS}{source}\n\n\ndef {entry}(*args):\n    return Solution().{entry}(*args)\n"


def method(tree: ast.AST, entry: str) -> ast.FunctionDef | None:
    """The method `entry` of the `class Solution` of a module."""
    for node in getattr(tree, "body", ()):
        if isinstance(node, ast.ClassDef) and node.name == "Solution":
            return functions(node).get(entry)
    return None


def start_for(starter: str, entry: str, text: str) -> str:
    """The start of a task whose collection gives `starter`: its signature without the class around it."""
    tree = parsed(
        starter if starter.rstrip().endswith(("pass", "...")) else starter.rstrip() + "\n        pass\n"
    )
    found = None if tree is None else functions(tree).get(entry) or method(tree, entry)
    if found is None:
        return f'def {entry}(*args):\n    """{entry}"""\n'
    if found.args.args and found.args.args[0].arg == "self":
        found.args.args.pop(0)
    return HARNESS_IMPORTS + start_of(found, text)


def cases(pairs: Sequence[tuple[Sequence[Any], Any]], tolerance: float | None = None) -> str:
    """A file of cases; Unfit when a value is outside the canonical types."""
    rows = [{"args": values_of(list(args)), "expected": values_of(expected)} for args, expected in pairs]
    if tolerance:
        rows = [{**row, "tolerance": tolerance} for row in rows]
    return json.dumps(rows, indent=0)


def values_of(value: Any) -> Any:
    """The tree of a value read from JSON; Unfit when it has none."""
    try:
        return values.encode(value)
    except values.ValueFault as fault:
        raise Unfit(f"a case holds {fault}") from None


def stdio_files(
    public: Sequence[tuple[str, str]], hidden: Sequence[tuple[str, str]]
) -> dict[str, str | bytes]:
    """The cases of a `stdio` task: pairs of input and output, as files."""
    files: dict[str, str | bytes] = {}
    for part, pairs in (("public", public), ("tests", hidden)):
        for index, (given, wanted) in enumerate(pairs, 1):
            files |= {f"{part}/{index}.in": given, f"{part}/{index}.out": wanted}
    return files
