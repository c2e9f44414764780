"""V9: nothing that a candidate may see holds the gold, the hidden tests, or what was left of making them.

Compared are runs of 8 lines or 50 tokens. What a start holds of its own counterpart in the gold is no secret: a
repository's gold repeats most of a file, and a function to repair is its gold but for the fault. What the gold adds to
its start is, as a whole, however short.
"""

from __future__ import annotations

import difflib
import io
import json
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from appliance.admission.check import Check
from appliance.admission.contamination import bodies
from appliance.admission.fingerprints import is_gold
from appliance.admission.texts import holds, lines, part, tokens, whole_windows
from appliance.kinds import load_kind
from appliance.nouns import Task

NAME = "nothing leaks"
LINES, TOKENS = 8, 50
VISIBLE = ("instruction.md", "environment/", "public/")
SECRET = ("solution/", "tests/", "hidden/")
FEWEST_WORDS = 12
"""Different tokens that a run must have: rows of zeros and brackets are in common by chance."""
SHORTEST = {"function": 4}
"""Tokens of an addition of the gold, by kind, from which it says anything; 12 elsewhere."""
BLOCK_TOKENS = 25
"""Of a run of lines that a gold adds to a code base, from which one run says enough."""
_DATA = (".json", ".in", ".out", ".sql", ".csv", ".txt")
_RESIDUE = re.compile(r"\.(orig|rej|bak|swp|swo|pyc|pyo)$|~$|^\.#|^#.*#$|^\.DS_Store$")
_RESIDUE_FOLDERS = {
    ".git",
    ".hg",
    ".svn",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
}
_IMPORT = re.compile(r"\s*(import|from)\s")
_LISTED = 20


def check(task: Task) -> Check:
    """Runs of gold and hidden tests in what is visible, the whole of a short gold, and what tools left behind."""
    found = list(dict.fromkeys([*_residue(Path(task.folder)), *_copies(task), *_shown_cases(task)]))
    measured = {"found": len(found), "leaks": found[:_LISTED]}
    if not found:
        return Check("V9", NAME, "passed", measured)
    remedy = "take it out of instruction.md, environment/ and public/"
    return Check("V9", NAME, "failed", measured, f"leaked: {found[0]}", remedy)


def _residue(root: Path) -> Iterator[str]:
    """Files and folders that editors, patches and tools leave, which may hold an earlier or a later state."""
    for place in ("environment", "public"):
        for path in sorted((root / place).rglob("*")):
            name = path.relative_to(root)
            if _RESIDUE_FOLDERS & set(name.parts):
                if path.name in _RESIDUE_FOLDERS:
                    yield f"{name} is what a tool left"
            elif _RESIDUE.search(path.name):
                yield f"{name} is what an editor or a patch left"


def _copies(task: Task) -> Iterator[str]:
    visible, secret = part(task, *VISIBLE), part(task, *SECRET)
    for name, text in secret.items():
        own = counterpart(name, visible)
        places = {other: body for other, body in visible.items() if other != own}
        if own:
            # Beside what the two share by design, a start may only tell in its comments and texts.
            places[own] = remarks(own, visible[own])
        if not name.endswith(_DATA) or name.startswith("solution/"):
            yield from _runs(name, text, visible.get(own, ""), places)
        else:
            shown = {other: body for other, body in places.items() if not other.startswith("public/")}
            yield from _runs(name, text, visible.get(own, ""), shown)
        if is_gold(name) and task.kind != "config":
            yield from _additions(task.kind, name, text, own, visible)


def counterpart(name: str, visible: Mapping[str, str]) -> str:
    """The visible file that a secret one is an edition of: the start of a gold, the seen form of a test."""
    path = PurePosixPath(name)
    for root in ("solution/", "tests/suite/"):
        if name.startswith(root):
            inner = path.relative_to(root)
            if inner.parts[0] == "alternatives" and len(inner.parts) > 2:
                inner = PurePosixPath(*inner.parts[2:])
            for place in ("environment/repo", "environment"):
                if f"{place}/{inner}" in visible:
                    return f"{place}/{inner}"
    return ""


def _runs(name: str, text: str, own: str, places: Mapping[str, str]) -> Iterator[str]:
    """Long runs that a secret file shares with visible ones and not with its own start."""
    plain = "\n".join(line for line in text.splitlines() if not _IMPORT.match(line))
    rows = _telling(whole_windows(lines(plain), LINES)) - whole_windows(lines(own), LINES)
    spans = _telling(whole_windows(tokens(plain), TOKENS)) - whole_windows(tokens(own), TOKENS)
    for place, body in places.items():
        if rows & whole_windows(lines(body), LINES):
            yield f"{LINES} lines of {name} in {place}"
        elif spans & whole_windows(tokens(body), TOKENS):
            yield f"{TOKENS} tokens of {name} in {place}"


def _telling(runs: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    return {run for run in runs if len(set(tokens(" ".join(run)))) >= FEWEST_WORDS}


def _additions(kind: str, name: str, text: str, own: str, visible: Mapping[str, str]) -> Iterator[str]:
    """What a gold adds to its start, where the whole of it, or a large block, is visible."""
    start = visible.get(own, "")
    blocks = added_blocks(start, text) if kind == "repo" else added_bodies(name, start, text)
    runs = [run for run in map(tokens, blocks) if run]
    shown = {place: tokens(body) for place, body in visible.items()}
    if own:
        shown[own] = tokens(uncommented(own, start))
    for place, plain in shown.items():
        there = [run for run in runs if holds(plain, run)]
        if there and len(there) == len(runs) and sum(map(len, runs)) >= SHORTEST.get(kind, 12):
            yield f"all that {name} adds in {place}"
        elif kind == "repo" and any(len(run) >= BLOCK_TOKENS for run in there):
            yield f"lines that {name} adds in {place}"


def added_bodies(name: str, start: str, gold: str) -> list[str]:
    """The bodies of the gold's functions that the start does not have as they are; of other programs all."""
    if not name.endswith(".py"):
        return [gold]
    known = [tokens(body) for body in bodies(start)]
    return [body for body in bodies(gold) if tokens(body) not in known] or ([gold] if start == gold else [])


def added_blocks(start: str, gold: str) -> list[str]:
    """The runs of lines that the gold has and its start does not."""
    old, new = start.splitlines(), gold.splitlines()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    blocks = ("\n".join(new[low:high]) for tag, _, _, low, high in matcher.get_opcodes() if tag != "equal")
    return [block for block in blocks if block.strip()]


def remarks(name: str, source: str) -> str:
    """The comments and texts of a program; all of what is no Python."""
    if not name.endswith(".py"):
        return "\n".join(
            line.lstrip("#-/ ") for line in source.splitlines() if line.lstrip()[:1] in ("#", "-", "/")
        )
    try:
        found = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return source
    told = (item.string for item in found if item.type in (tokenize.COMMENT, tokenize.STRING))
    return "\n".join(line.strip("#\"' ") for item in told for line in item.splitlines())


def uncommented(name: str, source: str) -> str:
    """The program as it would be with its comments brought back to life."""
    return re.sub(r"(?m)^(\s*)#+ ?", r"\1", source) if name.endswith((".py", ".sh")) else source


def _shown_cases(task: Task) -> Iterator[str]:
    """Hidden cases that are public examples, where there are no others and none is drawn."""
    public, hidden = _cases(task, "public/"), _cases(task, "tests/")
    _, count = load_kind(task.kind).totals(task)
    if hidden and hidden <= public and count <= len(hidden):
        yield "every hidden case is a public example"


def _cases(task: Task, place: str) -> set[str]:
    """The cases of a place, each as one text."""
    files = part(task, place)
    if task.kind == "stdio":
        return {f"{files[name]}\0{files.get(name[:-3] + '.out')}" for name in files if name.endswith(".in")}
    found: set[str] = set()
    for name, text in files.items():
        if PurePosixPath(name).name in ("cases.json", "examples.json", "probes.json") and task.kind != "sql":
            found |= {json.dumps(row, sort_keys=True) for row in _rows(text)}
    return found


def _rows(text: str) -> list[Any]:
    try:
        rows = json.loads(text)
    except ValueError:
        return []
    return rows if isinstance(rows, list) else []
