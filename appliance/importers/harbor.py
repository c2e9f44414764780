"""Harbor folders: `task.toml`, `instruction.md`, `environment/`, `tests/`, `solution/`; one, or a folder of many.

One with our `pool.toml` is a task as it stands, but for what our export added so that it runs elsewhere too. Any other
asks for a container to be built and a script to be believed, neither of which happens here: it is blocked.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from appliance.errors import NotFoundError, TaskError
from appliance.importers.adapt import Unfit
from appliance.importers.row import Imported, Options
from appliance.manifest import LinkFound, walk
from appliance.pool.folder import POOL_FILE, STATEMENT, TASK_FILE, Folder
from appliance.pool.folder import read as read_folder

NAME, SUMMARY = "Harbor folder", "A task folder, or a folder of them."
ADDED = b"# Added by `appliance task export harbor`"
"""A line near the top of every file that the export adds."""
MAX_BYTES = 256 << 20
"""Of one task folder."""


def rows(source: Path, options: Options) -> Iterator[Imported]:
    """A task for each Harbor folder."""
    folders = [source] if (source / TASK_FILE).is_file() else sorted(source.glob(f"*/{TASK_FILE}"))
    if not folders:
        raise NotFoundError(
            f"{source} holds no {TASK_FILE}", remedy="give a task folder, or a folder of them"
        )
    for number, found in enumerate(folders, 1):
        folder = found if found.is_dir() else found.parent
        try:
            yield Imported(number, folder.name, task_of(folder, options))
        except Unfit as reason:
            yield Imported(number, folder.name, blocked=str(reason))


def task_of(folder: Path, options: Options) -> Folder:
    """The task of a folder with our `pool.toml`; Unfit for one without."""
    _check_size(folder)
    if not (folder / POOL_FILE).is_file():
        raise Unfit(_why(folder))
    task = read_folder(folder)
    key = task.pool.get("key")
    if type(key) is not str or "/" not in key:
        raise TaskError(f"{folder / POOL_FILE}: field 'key' is not pack/name", remedy="write pack/name")
    added = {name for name, body in task.files.items() if ADDED in body[:200]}
    kept = {name: body for name, body in task.files.items() if name not in added}
    task = replace(task, files=kept, executable=task.executable - added)
    return task if key.partition("/")[0] == options.pack else _moved(task, options.pack)


def _moved(task: Folder, pack: str) -> Folder:
    """The task with the key of another pack."""
    key, table = f"{pack}/{task.name}", task.manifest.get("task", {})
    manifest = {**task.manifest, "task": {**table, "name": key}} if "name" in table else task.manifest
    return replace(task, pool={**task.pool, "key": key}, manifest=manifest)


def _check_size(folder: Path) -> None:
    try:
        if sum(path.lstat().st_size for path in walk(folder)) > MAX_BYTES:
            raise TaskError(f"{folder} has more than {MAX_BYTES >> 20} MiB", remedy="cut it down")
    except LinkFound as found:
        raise TaskError(
            f"{found.path} is not a regular file", remedy="replace the link by its content"
        ) from None


def _why(folder: Path) -> str:
    """Why a folder without our sidecar cannot be judged here; TaskError when it is no Harbor folder either."""
    path = folder / TASK_FILE
    try:
        manifest = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TaskError(f"{path}: {error}", remedy="correct the TOML") from None
    if manifest.get("steps") or (folder / "steps").is_dir():
        return "it has more than one step"
    if not (folder / STATEMENT).is_file():
        raise TaskError(f"{folder}: {STATEMENT} is missing", remedy="say in it what is asked")
    environment = manifest.get("environment", {})
    image = environment.get("docker_image") if isinstance(environment, dict) else None
    needs = f"the image {image}" if image else "what environment/ builds"
    return f"needs an environment: {needs}, and tests/test.sh in it; add a {POOL_FILE} with a kind to judge it here"
