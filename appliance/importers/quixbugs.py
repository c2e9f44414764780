"""Folders in the manner of QuixBugs: faulty programs beside right ones, with cases as JSON lines.

`python_programs/NAME.py` is faulty, `correct_python_programs/NAME.py` is right, and each line of
`json_testcases/NAME.json` is `[arguments, answer]`. Every pair becomes a `function` task whose start is the faulty
program; the first case is public. A program with `python_testcases/` only is blocked, for those would have to run.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from appliance.errors import NotFoundError, TaskError
from appliance.importers.adapt import Unfit, cases, functions, parsed
from appliance.importers.row import Imported, Options, Row, folder_of, slug
from appliance.importers.source import MAX_ROW, parse
from appliance.manifest import LinkFound, walk
from appliance.pool.folder import Folder

NAME, SUMMARY = "QuixBugs-style folder", "Faulty programs to repair, with right ones and cases."
FAULTY, RIGHT, CASES = "python_programs", "correct_python_programs", "json_testcases"


def rows(source: Path, options: Options) -> Iterator[Imported]:
    """A task for each program of the folder."""
    if not (source / FAULTY).is_dir() or not (source / RIGHT).is_dir():
        raise NotFoundError(
            f"{source} has no {FAULTY} and {RIGHT}", remedy="give the folder that holds them both"
        )
    _refuse_links(source)
    for number, path in enumerate(sorted((source / FAULTY).glob("*.py")), 1):
        try:
            yield Imported(number, path.stem, _task(source, path.stem, number, options))
        except Unfit as reason:
            yield Imported(number, path.stem, blocked=str(reason))


def _refuse_links(source: Path) -> None:
    try:
        for part in (FAULTY, RIGHT, CASES):
            for _ in walk(source / part) if (source / part).is_dir() else ():
                pass
    except LinkFound as found:
        raise TaskError(
            f"{found.path} is not a regular file", remedy="replace the link by its content"
        ) from None


def _task(source: Path, stem: str, number: int, options: Options) -> Folder:
    faulty, right = _text(source / FAULTY / f"{stem}.py"), _text(source / RIGHT / f"{stem}.py")
    if not (source / CASES / f"{stem}.json").is_file():
        raise Unfit(f"needs {CASES}/{stem}.json: cases that are programs are not run")
    pairs = _pairs(source / CASES / f"{stem}.json")
    tree = parsed(faulty)
    if tree is None or stem not in functions(tree):
        raise Unfit(f"{FAULTY}/{stem}.py is no Python 3 that defines {stem}")
    if len(pairs) < 2:
        raise Unfit(f"it has {len(pairs)} cases: one to show and one to hide are needed")
    files: dict[str, str | bytes] = {
        "instruction.md": f"The function `{stem}` has a fault. Repair it.\n\n{_says(tree)}\n",
        "environment/solution.py": faulty,
        "solution/solution.py": right,
        "public/examples.json": cases(pairs[:1], 1e-9),
        "tests/cases.json": cases(pairs[1:], 1e-9),
    }
    row = Row(f"{FAULTY}/{stem}.py", number, hashlib.sha256(faulty.encode()).hexdigest(), {})
    return folder_of("quixbugs", row, slug(stem), options, ("function", {"entry_point": stem}), files, ())


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_ROW:
            raise TaskError(f"{path} has more than {MAX_ROW >> 20} MiB", remedy="drop the program")
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise Unfit(f"{path.parent.name}/{path.name} is missing") from None
    except UnicodeDecodeError as error:
        raise TaskError(f"{path}: {error}", remedy="save the file as UTF-8") from None


def _pairs(path: Path) -> list[tuple[list[Any], Any]]:
    pairs = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        if line.strip():
            row = parse(f"{path}: row {number}", line.encode())
            if type(row) is not list or len(row) != 2:
                raise TaskError(
                    f"{path}: row {number} is not [arguments, answer]", remedy="write one pair a line"
                )
            pairs.append((row[0] if type(row[0]) is list else [row[0]], row[1]))
    return pairs


def _says(tree: ast.Module) -> str:
    """The texts that stand alone in the program: QuixBugs describes it after its end."""
    texts = [
        node.value.value
        for node in tree.body
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    return "\n\n".join(texts).strip()
