"""Task folders and packs: read, checked and hashed.

A task is a Harbor folder plus `pool.toml`. `task.toml` is Harbor's: fields we do not know are left alone.
`pool.toml` and `pack.toml` are ours: an unknown key is an error that names the nearest known one. Hidden files
are checked and hashed here, but their content leaves only through the judge.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from appliance import harbor, quality
from appliance import packs as packs_package
from appliance.errors import NotFoundError, TaskError, UsageError
from appliance.examination import DEFAULT_BUDGETS, limits
from appliance.kinds import kind_names, load_kind
from appliance.manifest import (
    ENVIRONMENT_PARTS,
    HIDDEN_PARTS,
    PUBLIC_PARTS,
    Entry,
    LinkFound,
    environment_hash,
    manifest_hash,
    parts_hash,
    read_tree,
)
from appliance.nouns import Task
from appliance.tables import Field, check_table, nearest

TASK_FILE = "task.toml"
POOL_FILE = "pool.toml"
PACK_FILE = "pack.toml"
STATEMENT = "instruction.md"

_KEY = re.compile(r"[a-z0-9][a-z0-9_-]*/[a-z0-9][a-z0-9_-]*")
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

_POOL = {
    "key": Field(str),
    "version": Field(str),
    "kind": Field(str),
    "split": Field(str, choices=("train", "eval", "canary")),
    "tier": Field(str, choices=("easy", "core", "hard")),
    "cluster": Field(str),
    "family": Field(str, required=False),
    "author": Field(str, required=False),
    "canary": Field(str, required=False),
    "licence": Field(str),
    "provenance": Field(str),
    "image": Field(str, required=False),
    "budgets": Field(dict, required=False),
    quality.TABLE: Field(dict, required=False),
}
_BUDGETS = {name: Field(float, required=False, minimum=0) for name in DEFAULT_BUDGETS}
_PACK = {
    "name": Field(str),
    "version": Field(str),
    "licence": Field(str),
    "description": Field(str, required=False),
}


def load_task(folder: Path) -> Task:
    """Read one task folder; TaskError names the file, the field and the remedy."""
    if not folder.is_dir():
        raise NotFoundError(f"{folder} is not a folder", remedy="give a task folder or a task key")
    pool = _read_pool(folder)
    kind = load_kind(pool["kind"])
    settings = _kind_settings(folder, pool, kind)
    entries = _entries(folder)
    kind.check(folder, settings)
    image = pool.get("image", "")
    task = Task(
        key=pool["key"],
        pack=pool["key"].partition("/")[0],
        kind=pool["kind"],
        split=pool["split"],
        tier=pool["tier"],
        cluster=pool["cluster"],
        family=pool.get("family", pool["cluster"]),
        author=pool.get("author", ""),
        version=pool["version"],
        folder=str(folder.resolve()),
        statement=_statement(folder / STATEMENT),
        start=_text(folder / kind.START) if kind.START else "",
        entry_point=settings.get("entry_point", ""),
        task_hash=manifest_hash(entries),
        public_hash=parts_hash(entries, PUBLIC_PARTS),
        hidden_hash=parts_hash(entries, HIDDEN_PARTS),
        settings=settings,
        image=image,
        env_hash=environment_hash(parts_hash(entries, ENVIRONMENT_PARTS), image),
        canary=pool.get("canary", ""),
    )
    _check_limits(folder, task)
    quality.check(quality.read(task.settings.get(quality.TABLE), task.key), task)
    return task


def _statement(path: Path) -> str:
    statement = _text(path).strip()
    if not statement:
        raise TaskError(f"{path} is empty", remedy="say in it what is asked")
    return statement


def _check_limits(folder: Path, task: Task) -> None:
    """A jail refuses limits out of its bounds, which must be said now and not in the middle of a run."""
    try:
        limits(task)
    except UsageError as error:
        where = f"{folder / POOL_FILE} [budgets]"
        raise TaskError(f"{where}: {error.message}", remedy="write a number between them") from None


def _read_pool(folder: Path) -> dict[str, Any]:
    path = folder / POOL_FILE
    pool = _toml(path)
    kind = pool.get("kind")
    if isinstance(kind, str) and kind not in kind_names():
        raise TaskError(
            f"{path}: field 'kind': {kind!r} is not a task kind", remedy=nearest(kind, kind_names())
        )
    check_table(str(path), pool, {**_POOL, str(kind): Field(dict)}, TaskError)
    check_table(f"{path} [budgets]", pool.get("budgets", {}), _BUDGETS, TaskError)
    _check_form(path, "key", pool["key"], _KEY, "write pack/name in lower case")
    _check_form(path, "version", pool["version"], _VERSION, "write three numbers, such as 1.0.0")
    if "image" in pool:
        remedy = "write the whole digest, sha256:…, which `appliance image list --json` shows"
        _check_form(path, "image", pool["image"], _DIGEST, remedy)
    if "canary" in pool:
        _check_canary(path, pool)
    return pool


def _check_canary(path: Path, pool: Mapping[str, Any]) -> None:
    """A train task with one is an eval task that was copied: a canary stays where it was put."""
    _check_form(path, "canary", pool["canary"], _GUID, "write a GUID in lower case")
    if pool["split"] == "train":
        remedy = "an eval task never becomes a train task; write another one"
        raise TaskError(f"{path}: field 'canary': tasks of the split 'train' have none", remedy=remedy)


def _check_form(path: Path, name: str, value: str, form: re.Pattern[str], remedy: str) -> None:
    if not form.fullmatch(value):
        raise TaskError(f"{path}: field {name!r}: {value!r} does not have the right form", remedy=remedy)


def _kind_settings(folder: Path, pool: Mapping[str, Any], kind: ModuleType) -> dict[str, Any]:
    where, manifest = str(folder / TASK_FILE), _toml(folder / TASK_FILE)
    harbor.check(where, manifest, pool["key"], pool.get("image", ""))
    table = pool[pool["kind"]]
    check_table(f"{folder / POOL_FILE} [{pool['kind']}]", table, kind.SETTINGS, TaskError)
    for name in (STATEMENT, *filter(None, [kind.START]), *kind.FILES):
        if not (folder / name).is_file():
            what = "the gold solution" if name.startswith("solution/") else "a file of the task"
            raise TaskError(f"{folder}: {name} is missing", remedy=f"add {what} as {name}")
    budgets = harbor.budgets(where, manifest, pool.get("budgets", {}), DEFAULT_BUDGETS)
    asked = {quality.TABLE: pool[quality.TABLE]} if quality.TABLE in pool else {}
    quality.read(pool.get(quality.TABLE), f"{folder / POOL_FILE} [{quality.TABLE}]")
    return {**table, "budgets": budgets, **asked}


def _entries(folder: Path) -> tuple[Entry, ...]:
    try:
        return read_tree(folder)
    except LinkFound as found:
        raise TaskError(
            f"{found.path} is not a regular file", remedy="replace the link by its content"
        ) from None


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise TaskError(f"{path}: {error}", remedy="save the file as UTF-8") from None


def _toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise TaskError(f"{path.parent}: {path.name} is missing", remedy=f"add {path.name}")
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{path}: {error}", remedy="correct the TOML") from None


def load_pack(folder: Path) -> tuple[Task, ...]:
    """Every task of a pack, sorted by key; equal keys and a cluster in two splits are refused."""
    pack = read_pack(folder)
    _check_complete(folder)
    tasks = sorted(
        (load_task(path.parent) for path in folder.glob(f"*/{POOL_FILE}")), key=lambda task: task.key
    )
    if not tasks:
        raise TaskError(f"{folder}: the pack holds no task", remedy=f"add a folder with a {POOL_FILE}")
    _check_pack(folder, pack["name"], tasks)
    return tuple(tasks)


def _check_complete(folder: Path) -> None:
    """A task folder whose `pool.toml` has another name would drop out of the pack without a word."""
    for name in (TASK_FILE, STATEMENT):
        for path in sorted(folder.glob(f"*/{name}")):
            if not (path.parent / POOL_FILE).is_file():
                raise TaskError(
                    f"{path.parent}: {POOL_FILE} is missing", remedy="add it, or remove the folder"
                )


def read_pack(folder: Path) -> dict[str, Any]:
    """The checked content of a `pack.toml`."""
    path = folder / PACK_FILE
    if not folder.is_dir():
        raise NotFoundError(f"{folder} is not a folder", remedy="give the folder of a pack")
    pack = _toml(path)
    check_table(str(path), pack, _PACK, TaskError)
    _check_form(path, "version", pack["version"], _VERSION, "write three numbers, such as 1.0.0")
    return pack


def _check_pack(folder: Path, name: str, tasks: Sequence[Task]) -> None:
    seen: dict[str, Task] = {}
    splits: dict[str, Task] = {}
    for task in tasks:
        path = Path(task.folder) / POOL_FILE
        if task.pack != name:
            raise TaskError(f"{path}: field 'key': {task.key!r} is not of the pack {name!r} in {folder}")
        if other := seen.get(task.key):
            remedy = f"{other.folder} has the same key; give one of them another"
            raise TaskError(f"{path}: field 'key': {task.key!r} is there twice", remedy=remedy)
        cluster = splits.setdefault(task.cluster, task)
        if cluster.split != task.split:
            remedy = f"{cluster.key} is in {cluster.split!r}; a cluster lies wholly in one split"
            raise TaskError(f"{path}: cluster {task.cluster!r} is in two splits", remedy=remedy)
        seen[task.key] = task


def shipped_packs() -> dict[str, Path]:
    """The packs that come with the appliance, by name."""
    root = Path(packs_package.__path__[0])
    return {path.parent.name: path.parent for path in sorted(root.glob(f"*/{PACK_FILE}"))}


def find_task(reference: str, packs: Sequence[Path] | None = None) -> Task:
    """A task by folder, or by key in the given packs (else the shipped ones)."""
    if not reference:
        raise UsageError("the name of the task is empty", remedy="give a task key or a task folder")
    folder = Path(reference)
    if (folder / POOL_FILE).is_file() or (folder.is_dir() and (folder / TASK_FILE).is_file()):
        return load_task(folder)
    folders = list(shipped_packs().values()) if packs is None else list(packs)
    guess = reference.partition("/")[2]
    for pack in folders:
        if guess and (pack / guess / POOL_FILE).is_file():
            task = load_task(pack / guess)
            if task.key == reference:
                return task
    tasks = {task.key: task for pack in folders for task in load_pack(pack)}
    if reference not in tasks:
        remedy = nearest(reference, tasks) if tasks else "no pack holds a task"
        raise NotFoundError(f"there is no task {reference!r}", remedy=remedy)
    return tasks[reference]
