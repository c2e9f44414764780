"""The untouched start of a task as files, by the names that a submission uses for them, and its gold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from appliance.errors import TaskError
from appliance.kinds import load_kind
from appliance.manifest import LinkFound, walk
from appliance.nouns import Task
from appliance.signals.kept_values import Kept

REPOSITORY = "environment/repo"
"""Where a task keeps the tree that a candidate gets, if it gets one."""
KEPT_TREES = 128

_LANGUAGES = {".py": "python", ".pyi": "python", ".sql": "sql", ".sh": "shell"}
_LINE_END = re.compile(r"\r\n|\r|\n")
_starts: Kept[Mapping[str, bytes]] = Kept(KEPT_TREES)
_golds: Kept[Mapping[str, bytes]] = Kept(KEPT_TREES)


def start_files(task: Task) -> Mapping[str, bytes]:
    """The start of a task; TaskError when its tree holds something else than files."""
    return _starts.get((task.folder, task.task_hash), lambda: _read_start(task))


def gold_files(task: Task) -> Mapping[str, bytes]:
    """The gold of a task, as the artefacts of a submission."""
    return _golds.get((task.folder, task.task_hash), lambda: load_kind(task.kind).controls(task)["gold"][0])


def _read_start(task: Task) -> Mapping[str, bytes]:
    folder = Path(task.folder, REPOSITORY)
    if not folder.is_dir():
        start: Mapping[str, bytes] = load_kind(task.kind).controls(task)["start"][0]
        return start
    try:
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in walk(folder)}
    except LinkFound as found:
        raise TaskError(f"{found.path} is not a regular file", remedy="replace it by its content") from None


def languages(task: Task) -> frozenset[str]:
    """The languages of the files that a submission for a task is made of."""
    names = [*start_files(task), *gold_files(task)]
    return frozenset(_LANGUAGES.get(PurePosixPath(name).suffix, "text") for name in names)


def python_files(files: Mapping[str, bytes], names: Iterable[str] | None = None) -> dict[str, bytes]:
    """Those in Python, of `names` only when they are given."""
    wanted = files.keys() if names is None else files.keys() & set(names)
    return {name: files[name] for name in sorted(wanted) if _is_python(name)}


def _is_python(name: str) -> bool:
    return _LANGUAGES.get(PurePosixPath(name).suffix) == "python"


def lacks_python(task: Task) -> str:
    """Why a signal that reads Python has nothing to look at in a task; empty when it has."""
    return "" if "python" in languages(task) else f"no file of a {task.kind} task is in Python"


def lines_of(body: bytes) -> list[str]:
    """The lines of a file, however they end; bytes that are no text become visible."""
    return _LINE_END.split(body.decode("utf-8", "backslashreplace"))
