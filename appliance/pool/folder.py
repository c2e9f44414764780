"""A task folder in memory: what importers, generators and scaffolds make and exporters read.

Writing keeps every key of `task.toml` and `pool.toml`, known to us or not; comments and the order of tables are not
kept. Nothing is checked here but the names of files: `appliance.tasks.load_task` does that.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from appliance.errors import TaskError
from appliance.judge import is_plain
from appliance.manifest import LinkFound, walk

TASK_FILE, POOL_FILE, STATEMENT = "task.toml", "pool.toml", "instruction.md"


@dataclass(frozen=True, slots=True)
class Folder:
    """One task, as it is to lie on disk."""

    pool: Mapping[str, Any]
    """The content of `pool.toml`."""
    manifest: Mapping[str, Any]
    """The content of Harbor's `task.toml`, unknown keys included."""
    files: Mapping[str, bytes]
    """Every other file by its path below the task folder, `instruction.md` included."""
    executable: frozenset[str] = frozenset()
    """The files that carry the executable bit."""

    @property
    def key(self) -> str:
        return str(self.pool["key"])

    @property
    def name(self) -> str:
        """The name of the folder: the part of the key after the pack."""
        return self.key.partition("/")[2]


def read(folder: Path) -> Folder:
    """The task at `folder`; TaskError for a link, TOML that cannot be read, or a missing file."""
    try:
        files = {path.relative_to(folder).as_posix(): path for path in walk(folder)}
    except LinkFound as found:
        raise TaskError(
            f"{found.path} is not a regular file", remedy="replace the link by its content"
        ) from None
    pool, manifest = _toml(folder / POOL_FILE), _toml(folder / TASK_FILE)
    rest = {name: path for name, path in files.items() if name not in (POOL_FILE, TASK_FILE)}
    marked = frozenset(name for name, path in rest.items() if path.stat().st_mode & 0o100)
    return Folder(pool, manifest, {name: path.read_bytes() for name, path in rest.items()}, marked)


def write(pack: Path, task: Folder) -> Path:
    """Write the task below the folder of its pack and return where: wholly or not at all. TaskError if it is there."""
    place = pack / task.name
    if os.path.lexists(place):
        raise TaskError(f"{place} is there already", remedy="remove it, or give the task another key")
    pack.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".new-", dir=pack))
    try:
        write_files(draft, task)
        draft.chmod(0o755)
        draft.rename(place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return place


def write_files(folder: Path, task: Folder) -> None:
    """Write the files of the task into `folder`, over what is there. TaskError for a name that leaves it."""
    (folder / POOL_FILE).write_text(tomli_w.dumps(task.pool), encoding="utf-8")
    (folder / TASK_FILE).write_text(tomli_w.dumps(task.manifest), encoding="utf-8")
    for name, body in sorted(task.files.items()):
        if not is_plain(name):
            raise TaskError(f"{task.key}: {name!r} cannot be a file of a task", remedy="name it otherwise")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        path.chmod(0o755 if name in task.executable else 0o644)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise TaskError(f"{path}: {error.strerror}", remedy=f"add {path.name}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TaskError(f"{path}: {error}", remedy="correct the TOML") from None
