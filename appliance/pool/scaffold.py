"""New tasks: one small sound task of each kind, which an author changes into another."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

from appliance.errors import NotFoundError, TaskError, UsageError
from appliance.pool.folder import Folder, read, write
from appliance.tables import nearest

SCAFFOLDS = Path(__file__).with_name("scaffolds")
ALSO = {"repair": "a repair is a `function` whose environment/solution.py has a fault: --kind function"}
"""Packs whose name is taken for a kind."""
_KEY = re.compile(r"[a-z0-9][a-z0-9_-]*/[a-z0-9][a-z0-9_-]*")
_PACK = 'name = "{name}"\nversion = "1.0.0"\nlicence = "{licence}"\n'


def kinds() -> tuple[str, ...]:
    """The kinds that there is a scaffold of."""
    return tuple(sorted(path.name for path in SCAFFOLDS.iterdir() if path.is_dir()))


def scaffold(kind: str, key: str, split: str, author: str = "") -> Folder:
    """The scaffold of a kind under another key, in a cluster of its own. NotFoundError, UsageError."""
    if kind not in kinds():
        remedy = ALSO.get(kind) or nearest(kind, kinds())
        raise NotFoundError(f"there is no task kind {kind!r}", remedy=remedy)
    if not _KEY.fullmatch(key):
        raise UsageError(f"{key!r} is no task key", remedy="write pack/name in lower case")
    found = read(SCAFFOLDS / kind)
    pool = {**found.pool, "key": key, "split": split, "cluster": key.replace("/", "-")}
    if author:
        pool["author"] = author
    # Tables must come last in what is written.
    pool = dict(sorted(pool.items(), key=lambda item: isinstance(item[1], dict)))
    manifest = {**found.manifest, "task": {**found.manifest["task"], "name": key}}
    return replace(found, pool=pool, manifest=manifest)


def write_new(pack: Path, task: Folder) -> Path:
    """Write a task into a pack, which is made where there is none. TaskError for a pack of another name."""
    name, manifest = task.key.partition("/")[0], pack / "pack.toml"
    if manifest.is_file():
        there = tomllib.loads(manifest.read_text("utf-8")).get("name")
        if there != name:
            raise TaskError(
                f"{manifest}: the pack is called {there!r}", remedy=f"write {there}/NAME, or another --pack"
            )
    place = write(pack, task)
    if not manifest.exists():
        manifest.write_text(_PACK.format(name=name, licence=task.pool["licence"]), encoding="utf-8")
    return place
