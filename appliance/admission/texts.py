"""Texts as windows and shingles: what leak scans and near-duplicate searches compare."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from appliance.manifest import walk
from appliance.nouns import Task

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|[^\w\s]")
_MOST_BYTES = 1 << 20
"""Of one file that is looked at."""


def tokens(text: str) -> list[str]:
    """Words, numbers and single signs."""
    return _TOKEN.findall(text)


def words(text: str) -> list[str]:
    """Words in lower case, without signs."""
    return re.findall(r"[a-z0-9_]+", text.lower())


def windows(parts: Sequence[str], size: int) -> set[tuple[str, ...]]:
    """Every run of `size` neighbours; the whole where it is shorter, and nothing of nothing."""
    if len(parts) < size:
        return {tuple(parts)} if parts else set()
    return {tuple(parts[start : start + size]) for start in range(len(parts) - size + 1)}


def lines(text: str) -> list[str]:
    """The lines that say something, without indentation."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def part(task: Task, *names: str) -> dict[str, str]:
    """The text files of a task below these folders (or at these paths), by name; what is no UTF-8 is left out."""
    root, found = Path(task.folder), {}
    for path in walk(root):
        name = path.relative_to(root).as_posix()
        if name.startswith(names) and path.stat().st_size <= _MOST_BYTES:
            try:
                found[name] = path.read_bytes().decode("utf-8")
            except UnicodeDecodeError:
                continue
    return found


def abstracted(source: str) -> list[str]:
    """The tokens of a Python source with names, numbers and texts made alike; plain tokens of what is none."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return [token.lower() for token in tokens(source)]
    return list(_abstract(tree))


def _abstract(tree: ast.AST) -> Iterable[str]:
    for node in ast.walk(_without_docstrings(tree)):
        name = type(node).__name__
        if name in ("Load", "Store", "Del", "arguments", "Module"):
            continue
        yield f"{name}:{type(node.value).__name__}" if isinstance(node, ast.Constant) else name


def _without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [item for item in body if not _is_text(item)] or [ast.Pass()]  # type: ignore[attr-defined]
    return tree


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
