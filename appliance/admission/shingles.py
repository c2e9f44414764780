"""Statements and programs as sets of 5-shingles in which names, numbers and texts are made alike.

A copy of a task under other names, with other constants, then has nearly the same sets. Names that Python itself
gives (built-in functions, methods of its types) and the keywords of SQL stay: nobody renames them, and of a short
program they say the most.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator

from appliance.admission.texts import tokens, windows, words

SIZE = 5
Shingles = frozenset[tuple[str, ...]]

_BUILT_IN = frozenset(dir(builtins))
_METHODS = frozenset(name for kind in (str, bytes, list, dict, set, int, float) for name in dir(kind))
_SKIPPED = ("Load", "Store", "Del", "arguments", "Module")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_QUOTED = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"")
_VARIABLE = re.compile(r"\$\{?(\w+)|\b([A-Za-z_]\w*)=")
_CREATED = re.compile(r"\bcreate\s+(?:table|view)\s+(?:if\s+not\s+exists\s+)?(\w+)\s*(?:\(([^;]*)\))?", re.I)
_SQL = frozenset(
    [
        "abs",
        "add",
        "all",
        "alter",
        "and",
        "as",
        "asc",
        "avg",
        "begin",
        "between",
        "by",
        "case",
        "cast",
        "check",
        "coalesce",
        "collate",
        "column",
        "commit",
        "count",
        "create",
        "cross",
        "current",
        "date",
        "datetime",
        "dense_rank",
        "default",
        "delete",
        "desc",
        "distinct",
        "drop",
        "else",
        "end",
        "except",
        "exists",
        "filter",
        "first_value",
        "following",
        "foreign",
        "from",
        "full",
        "glob",
        "group",
        "group_concat",
        "having",
        "ifnull",
        "iif",
        "in",
        "index",
        "inner",
        "insert",
        "instr",
        "integer",
        "intersect",
        "into",
        "is",
        "join",
        "julianday",
        "key",
        "lag",
        "last_value",
        "lead",
        "left",
        "length",
        "like",
        "limit",
        "lower",
        "max",
        "min",
        "not",
        "null",
        "nullif",
        "offset",
        "on",
        "or",
        "order",
        "outer",
        "over",
        "partition",
        "preceding",
        "primary",
        "printf",
        "range",
        "rank",
        "real",
        "recursive",
        "references",
        "rename",
        "replace",
        "round",
        "row",
        "row_number",
        "rows",
        "select",
        "set",
        "strftime",
        "substr",
        "sum",
        "table",
        "text",
        "then",
        "to",
        "total",
        "trigger",
        "trim",
        "unbounded",
        "union",
        "unique",
        "update",
        "upper",
        "using",
        "values",
        "view",
        "when",
        "where",
        "window",
        "with",
    ]
)


def statement_shingles(text: str, names: Iterable[str]) -> Shingles:
    """5-shingles of the words; numbers are alike, and so are `names`, which the task may call otherwise."""
    own = {name.lower() for name in names}
    plain = ["_" if word in own else "0" if word.isdigit() else word for word in words(text)]
    return frozenset(windows(plain, SIZE))


def program_shingles(name: str, text: str) -> Shingles:
    """5-shingles of the abstracted program in a file of that name; of its lower-case tokens where it is no program."""
    return frozenset(windows(abstracted(name, text), SIZE))


def abstracted(name: str, text: str) -> list[str]:
    """The program as a row of tokens that does not change when its names and constants do."""
    if name.endswith(".py"):
        try:
            return list(_python(ast.parse(text)))
        except (SyntaxError, ValueError, RecursionError):
            pass
    plain = _QUOTED.sub(" 's' ", text) if name.endswith((".sql", ".sh")) else text
    found = [token.lower() for token in tokens(_without_comments(name, plain))]
    if name.endswith(".sql"):
        found = [token if not token[0].isalpha() or token in _SQL else "x" for token in found]
    elif name.endswith(".sh"):
        own = _shell_names(plain)
        found = ["x" if token in own else token for token in found]
    return ["0" if _NUMBER.fullmatch(token) else token for token in found]


def abstract_data(name: str, text: str) -> list[str]:
    """The tokens of test data; of a script of SQL, tables and columns are alike and what is stored is not."""
    if not name.endswith(".sql"):
        return text.split()
    code = _without_comments(name, text)
    found: list[str] = []
    for plain, quoted in zip(_QUOTED.split(code), [*_QUOTED.findall(code), ""], strict=True):
        found += [
            token if not token[0].isalpha() or token in _SQL else "x" for token in tokens(plain.lower())
        ]
        found.append(quoted)
    return found


def names_of(name: str, text: str) -> frozenset[str]:
    """What a program file names by itself: functions, parameters and classes, tables and columns, variables."""
    if name.endswith(".sql"):
        return frozenset(_sql_names(text))
    if name.endswith(".sh"):
        return _shell_names(text)
    if not name.endswith(".py"):
        return frozenset()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    return frozenset(_python_names(tree))


def _python_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg


def _sql_names(text: str) -> Iterator[str]:
    for table, columns in _CREATED.findall(text):
        yield table.lower()
        for column in columns.split(","):
            found = words(column)
            if found and found[0] not in _SQL:
                yield found[0]


def _shell_names(text: str) -> frozenset[str]:
    return frozenset((one or other).lower() for one, other in _VARIABLE.findall(text))


def _without_comments(name: str, text: str) -> str:
    if name.endswith(".sql"):
        return re.sub(r"--[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    return re.sub(r"(?m)^\s*#.*$", " ", text) if name.endswith(".sh") else text


def _python(node: ast.AST) -> Iterator[str]:
    """The tree in the order of the text, so that a function inside another program is one run of it."""
    label = type(node).__name__
    if isinstance(node, ast.Constant):
        yield f"Constant:{type(node.value).__name__}"
        return
    if isinstance(node, ast.Name):
        label = node.id if node.id in _BUILT_IN else "Name"
    elif isinstance(node, ast.Attribute):
        label = f"Attribute:{node.attr if node.attr in _METHODS else ''}"
    if label not in _SKIPPED:
        yield label
    for child in _children(node):
        yield from _python(child)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What a node holds, without annotations and docstrings, which say nothing of what is done."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "type_comment", "decorator_list"):
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST) and not (field == "body" and _is_text(item)):
                yield item


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
