"""V9: nothing that a candidate may see holds the gold, the hidden tests, or what was left of making them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from appliance.admission.check import Check
from appliance.admission.texts import lines, part, tokens, windows
from appliance.manifest import walk
from appliance.nouns import Task

LINES, TOKENS = 8, 50
VISIBLE = ("instruction.md", "environment/", "public/")
SECRET = ("solution/", "tests/", "hidden/")
_RESIDUE = (".orig", ".rej", ".bak", ".swp", ".pyc", "~")
_RESIDUE_FOLDERS = {".git", ".hg", ".pytest_cache", ".mypy_cache", ".idea", ".hypothesis"}


def check(task: Task) -> Check:
    """Windows of 8 lines or 50 tokens, the whole body of a shorter gold, and files that editors and tools leave."""
    found = [*_residue(task), *_windows(task), *_bodies(task)][:20]
    if not found:
        return Check("V9", "nothing leaks", "passed", {"leaks": []})
    return Check(
        "V9",
        "nothing leaks",
        "failed",
        {"leaks": found},
        f"leaked: {found[0]}",
        "take it out of instruction.md, environment/ and public/",
    )


def _residue(task: Task) -> Iterator[str]:
    root = Path(task.folder)
    for path in walk(root):
        name = path.relative_to(root).as_posix()
        if name.startswith(VISIBLE) and (path.name.endswith(_RESIDUE) or _RESIDUE_FOLDERS & set(path.parts)):
            yield f"{name} is what a tool left"


def _windows(task: Task) -> Iterator[str]:
    """Long runs in common. What the start holds too is no secret: a repository's gold repeats most of it."""
    visible, secret = part(task, *VISIBLE), part(task, *SECRET)
    public = {text for name, text in visible.items()}
    shown_lines = set().union(*(windows(lines(text), LINES) for text in public), set())
    shown_tokens = set().union(*(windows(tokens(text), TOKENS) for text in public), set())
    start = part(task, "environment/")
    start_lines = set().union(*(windows(lines(text), LINES) for text in start.values()), set())
    start_tokens = set().union(*(windows(tokens(text), TOKENS) for text in start.values()), set())
    for name, text in secret.items():
        known = _is_copy_of_start(name, text, start)
        run = {one for one in windows(lines(text), LINES) & shown_lines if len(one) == LINES}
        if run - (start_lines if known else set()):
            yield f"{LINES} lines of {name}"
        span = {one for one in windows(tokens(text), TOKENS) & shown_tokens if len(one) == TOKENS}
        if span - (start_tokens if known else set()):
            yield f"{TOKENS} tokens of {name}"


def _is_copy_of_start(name: str, text: str, start: dict[str, str]) -> bool:
    """Whether a secret file is an edition of a file that the candidate starts from: same name, other text."""
    return any(Path(other).name == Path(name).name and body != text for other, body in start.items())


def _bodies(task: Task) -> Iterator[str]:
    """The statements of a short Python gold, where they stand in what is visible and not in the start alone."""
    if task.kind not in ("function", "stdio"):
        return
    visible = [text for name, text in part(task, *VISIBLE).items() if not name.startswith("environment/")]
    started = " ".join(tokens(" ".join(part(task, "environment/").values())))
    for name, text in part(task, "solution/solution.py").items():
        body = _statements(text)
        if len(tokens(body)) < 12:
            # A line such as `return a + b` may well be what the statement says in as many words.
            continue
        flat = " ".join(tokens(body))
        if flat in started or any(flat in " ".join(tokens(text)) for text in visible):
            yield f"the whole body of {name}"


def _statements(source: str) -> str:
    """What the functions of a source do, without their heads and docstrings."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    found = []
    for node in tree.body:
        inner = node.body if isinstance(node, ast.FunctionDef) else [node]
        found += [
            ast.get_source_segment(source, item) or ""
            for item in inner
            if not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
        ]
    return "\n".join(found)
