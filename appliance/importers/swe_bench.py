"""SWE-bench (Verified, SWE-Gym): `instance_id`, `repo`, `base_commit`, `patch`, `test_patch`, the two lists of tests.

A row names a repository and does not hold it. With `--repos DIR` the checkout is read from `DIR/owner__name/COMMIT`, or
from `DIR/owner__name` when it lies there alone; without it the row is blocked. The patches are applied in memory. The
result is a task of the kind `repo`: the tests of FAIL_TO_PASS are taken out of the code base and hidden, whatever of
them the candidate could have read there. What our own export added in the field `appliance` is used again.
"""

from __future__ import annotations

import ast
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.importers import patches
from appliance.importers.adapt import Unfit, parsed
from appliance.importers.row import Imported, Options, Row, folder_of, name_of
from appliance.importers.source import tasks
from appliance.kinds.repo_tree import BASE, GOLD, MANIFEST, MAX_FILES, MAX_MIB, PROBE, SUITE, matches
from appliance.pool.folder import Folder

NAME, SUMMARY = "SWE-bench", "Rows with a repository, a patch and two lists of tests; checkouts from --repos."
OWN = "appliance"
"""Our field of a row: `repo` and `budgets` as in pool.toml, `wrong_values` and `probe` as in the task's files."""
_USED = (
    *("instance_id", "patch", "test_patch", "problem_statement", "FAIL_TO_PASS", "PASS_TO_PASS"),
    OWN,
)
_DJANGO = re.compile(r"(\w+) \(([\w.]+)\)")
_REPO = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")
_SKIPPED = (".git", "__pycache__")


@dataclass(frozen=True, slots=True)
class Parts:
    """A code base before, what solves the task, and the files that its tests are in."""

    base: Mapping[str, bytes]
    gold: Mapping[str, bytes]
    suite: Mapping[str, bytes]


def rows(source: Path, options: Options) -> Iterator[Imported]:
    """A task for each row of a SWE-bench file."""
    yield from tasks(source, options, "instance_id", task_of)


def task_of(row: Row, options: Options) -> Folder:
    """The task of a row; Unfit when the checkout is not there or a patch does not fit."""
    patch, test_patch = row.text("patch"), row.text("test_patch")
    lists = lists_of(row)
    before = checkout(row, options)
    solved = patches.apply(before, patches.read(patch))
    tested = patches.apply(before, patches.read(test_patch))
    parts = Parts(before, changed(before, solved), changed(before, tested))
    return repo_task("swe-bench", row, options, parts, lists)


def lists_of(row: Row) -> dict[str, list[str]]:
    """The two lists of tests, Django's names turned into ours."""
    found = {name: row.texts(name) for name in ("FAIL_TO_PASS", "PASS_TO_PASS")}
    if not found["FAIL_TO_PASS"]:
        raise row.fault("FAIL_TO_PASS", "is empty", "name the tests that must begin to pass")
    return {name: [_DJANGO.sub(r"\2.\1", test) for test in tests] for name, tests in found.items()}


def checkout(row: Row, options: Options) -> dict[str, bytes]:
    """The files of the repository that a row names; Unfit when they are not there, or hold a link."""
    repo, commit = row.text("repo"), row.text("base_commit", "")
    place = repo.replace("/", "__")
    known = _REPO.fullmatch(repo)
    if not known or (commit and not _COMMIT.fullmatch(commit)):
        field = "base_commit" if known else "repo"
        raise row.fault(field, "has not the right form", "write owner/name, and a commit in hexadecimal")
    wanted = f"needs the repository {repo} at commit {commit or '(not given)'}"
    if options.repos is None:
        raise Unfit(f"{wanted}: give its checkouts with --repos")
    for folder in (options.repos / place / commit if commit else None, options.repos / place):
        if folder is not None and folder.is_dir():
            return _files(folder)
    raise Unfit(f"{wanted}: {options.repos / place} is not there")


def _files(root: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    left = MAX_MIB << 20
    for place, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        for name in (*folders, *names):
            path = Path(place, name)
            mode = path.lstat()
            if stat.S_ISDIR(mode.st_mode) or name.endswith(".pyc"):
                continue
            left -= mode.st_size
            if not stat.S_ISREG(mode.st_mode):
                raise Unfit(f"the checkout holds a link or special file: {path.relative_to(root)}")
            if len(found) >= MAX_FILES or left < 0:
                raise Unfit(f"the checkout has more than {MAX_FILES} files or {MAX_MIB} MiB")
            found[path.relative_to(root).as_posix()] = path.read_bytes()
    return found


def changed(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files that are new or other; Unfit when one is gone, for a submission cannot delete."""
    if gone := sorted(before.keys() - after.keys()):
        raise Unfit(f"the patch deletes {gone[0]}, which no submission can do")
    return {name: body for name, body in after.items() if before.get(name) != body}


def repo_task(
    format: str, row: Row, options: Options, parts: Parts, lists: Mapping[str, list[str]]
) -> Folder:
    """The task of a code base, its solution and its tests."""
    own = row.table(OWN) if OWN in row.data else {}
    base = _hide(parts.base, lists["FAIL_TO_PASS"])
    settings = own.get("repo") or _settings(parts, lists)
    manifest = {**lists, **({"wrong_values": own["wrong_values"]} if own.get("wrong_values") else {})}
    files: dict[str, str | bytes] = {
        "instruction.md": row.text("problem_statement").strip() + "\n",
        MANIFEST: json.dumps(manifest, indent=1),
        **({PROBE: json.dumps(own["probe"], indent=1)} if own.get("probe") else {}),
        **{f"{BASE}/{name}": body for name, body in base.items()},
        **{f"{GOLD}/{name}": body for name, body in parts.gold.items()},
        **{f"{SUITE}/{name}": body for name, body in parts.suite.items()},
    }
    if not row.text("problem_statement").strip():
        raise Unfit("its problem statement is empty")
    name = name_of(row, "instance_id")
    task = folder_of(format, row, name, options, ("repo", settings), files, _USED)
    budgets = own.get("budgets")
    return Folder({**task.pool, "budgets": budgets}, task.manifest, task.files) if budgets else task


def _settings(parts: Parts, lists: Mapping[str, list[str]]) -> dict[str, Any]:
    """Any Python file may be changed but those that are judged with."""
    tests = {path for name in lists["PASS_TO_PASS"] for path in paths_of(name) if path in parts.base}
    kept = [glob for glob in ("tests/**", "test/**") if not any(matches(name, [glob]) for name in parts.gold)]
    other = sorted(name for name in parts.gold if not name.endswith(".py"))
    return {"allow": ["**/*.py", *other], "ignore": [*kept, *sorted(tests | parts.suite.keys())]}


def paths_of(test: str) -> list[str]:
    """The files that a test may be in, by its name."""
    return [path for path, _ in _readings(test)]


def _readings(test: str) -> list[tuple[str, list[str]]]:
    """Each file that a test may be in, with its class, if any, and its name."""
    path, *rest = test.split("::")
    if rest:
        return [(path, rest)]
    parts = test.split(".")
    return [("/".join(parts[:cut]) + ".py", parts[cut:]) for cut in range(len(parts) - 1, 0, -1)]


def _hide(base: Mapping[str, bytes], tests: list[str]) -> dict[str, bytes]:
    """The code base without the tests that must begin to pass."""
    found = dict(base)
    for test in tests:
        for path, names in _readings(test):
            if path in found:
                found[path] = _without(path, found[path], names)
                break
    return found


def _without(path: str, body: bytes, names: list[str]) -> bytes:
    """A module without one test; its class keeps a `pass`, and what surrounds it stays as it is written."""
    text = body.decode("utf-8", errors="replace")
    tree = parsed(text)
    if tree is None:
        raise Unfit(f"{path} is no Python 3")
    owner: ast.Module | ast.ClassDef | None = tree
    if len(names) > 1:
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        owner = next((node for node in classes if node.name == names[0]), None)
    lines = text.split("\n")
    for node in owner.body if owner else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == names[-1]:
            start = min([node.lineno, *(item.lineno for item in node.decorator_list)]) - 1
            alone = isinstance(owner, ast.ClassDef) and len(owner.body) == 1
            lines[start : node.end_lineno] = [" " * node.col_offset + "pass"] if alone else []
            return "\n".join(lines).encode()
    return body
