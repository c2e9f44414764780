"""Submissions that look at nothing: constants, echoes, and programs that say nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

from appliance.kinds import load_kind
from appliance.kinds.function_cases import material
from appliance.nouns import Task

_BODIES = {
    "None": "return None",
    "0": "return 0",
    "1": "return 1",
    "True": "return True",
    "False": "return False",
    "empty text": "return ''",
    "empty list": "return []",
    "empty dict": "return {}",
    "first argument": "return given[0] if given else None",
    "last argument": "return given[-1] if given else None",
    "all arguments": "return given",
    "length": "return len(given[0])",
    "raise": "raise ValueError",
}
_SHELL = {"true": "true\n", "false": "exit 1\n", "remove all": "rm -rf ./*\n", "list": "ls\n"}
_SQL = {"one": "SELECT 1;\n", "null": "SELECT NULL;\n", "a comment": "-- nothing\n"}
_CONFIG = {"a comment": "# nothing\n", "braces": "{}\n"}
_PYTHON = {
    "silence": "pass\n",
    "echo": "import sys\nsys.stdout.write(sys.stdin.read())\n",
    "zero": "print(0)\n",
    "first line": "print(input())\n",
}
_EXAMPLES = 3


def of(task: Task) -> dict[str, Mapping[str, bytes]]:
    """Stubs by what they do, as they are handed in; none for a code base, whose start is one."""
    makers = {"function": _functions, "stdio": _programs}
    fixed = {"sql": _SQL, "shell": _SHELL, "config": _CONFIG}
    texts = makers[task.kind](task) if task.kind in makers else fixed.get(task.kind, {})
    name = load_kind(task.kind).lone(task)
    return {label: {name: text.encode()} for label, text in texts.items()}


def _functions(task: Task) -> dict[str, str]:
    head = f"def {task.entry_point}(*given, **named):\n    "
    honest = _short_gold(task)
    texts = {label: f"{head}{body}\n" for label, body in _BODIES.items() if body != honest}
    for number, case in enumerate(material(task).public[:_EXAMPLES]):
        if not case.raises and type(case.expected) in (int, float, str, bool, list):
            texts[f"answer of example {number}"] = f"{head}return {case.expected!r}\n"
    return texts


def _short_gold(task: Task) -> str:
    """The gold's body as a stub would have it, where it is one statement: a stub that it equals is the solution."""
    wanted = next(
        (
            node
            for node in ast.parse(material(task).gold).body
            if isinstance(node, ast.FunctionDef) and node.name == task.entry_point
        ),
        None,
    )
    body = [node for node in wanted.body if not _is_text(node)] if wanted else []
    if wanted is None or len(body) != 1 or not wanted.args.args:
        return ""
    return re.sub(rf"\b{wanted.args.args[0].arg}\b", "given[0]", ast.unparse(body[0]))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _programs(task: Task) -> dict[str, str]:
    if task.settings["language"] != "python":
        return {}
    texts = dict(_PYTHON)
    for path in sorted((Path(task.folder) / "public").glob("*.out"))[:_EXAMPLES]:
        answer = path.read_bytes()
        texts[f"output of {path.stem}"] = f"import sys\nsys.stdout.buffer.write({answer!r})\n"
    return texts
