"""A source made into a pack: rows read, written beside where it is to lie, checked, and put there as one.

An error in a row leaves nothing behind. What a row is blocked for stands in `blocked.jsonl` of the pack: that it needs
something, or that the task made of it is none that can be judged.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import appliance.pool.folder as folders
from appliance.admission.contamination import Guard
from appliance.drafts import new_folder
from appliance.errors import NotFoundError, TaskError
from appliance.importers.row import Imported, Options
from appliance.tasks import PACK_FILE, load_pack, load_task

BLOCKED, CHAT = "blocked.jsonl", "chat.jsonl"


@dataclass(frozen=True, slots=True)
class Intake:
    """What an import made: task keys, the number of conversations, and the blocked rows with their reasons."""

    tasks: tuple[str, ...]
    examples: int
    blocked: tuple[dict[str, Any], ...]


def bring_in(
    importer: ModuleType,
    source: Path,
    pack: Path,
    options: Options,
    limit: int | None,
    guard: Guard | None = None,
) -> Intake:
    """Write the pack at `pack`, which must not be there; TaskError, UsageError or NotFoundError leave nothing.

    With a `guard`, rows to be trained on that hold something of its eval tasks are blocked.
    """
    if not source.exists():
        raise NotFoundError(f"{source} does not exist", remedy="give a file or folder of the format")
    with new_folder(pack) as draft:
        taught = guard if options.split == "train" else None
        found = _write(draft, itertools.islice(importer.rows(source, options), limit), taught)
        if not found.tasks and not found.examples and not found.blocked:
            raise TaskError(f"{source} holds no row", remedy="give a file with rows")
        _finish(draft, importer, source, options, found)
    return found


def _write(draft: Path, rows: Iterator[Imported], guard: Guard | None) -> Intake:
    keys: dict[str, int] = {}
    blocked: list[dict[str, Any]] = []
    examples = 0
    for found in rows:
        reason = found.blocked or _contamination(found, guard)
        reason = reason or (_task(draft, found, keys) if found.task else "")
        if reason:
            blocked.append({"row": found.row, "id": found.id, "reason": reason})
        elif found.example is not None:
            examples += 1
            with (draft / CHAT).open("a", encoding="utf-8") as file:
                file.write(json.dumps(found.example) + "\n")
    return Intake(tuple(keys), examples, tuple(blocked))


def _contamination(found: Imported, guard: Guard | None) -> str:
    """Why a row must not be trained on; empty where it may."""
    held = guard.findings(_texts(found)) if guard else []
    return f"holds the {held[0].what} of the eval task {held[0].key}" if held else ""


def _texts(found: Imported) -> Iterator[str]:
    if found.example is not None:
        # Escaped line breaks would hide runs of words.
        yield from _strings(found.example)
    if found.task is not None:
        yield json.dumps(found.task.pool)
        yield from (body.decode("utf-8", errors="replace") for body in found.task.files.values())


def _strings(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, Mapping | list):
        for part in tree.values() if isinstance(tree, Mapping) else tree:
            yield from _strings(part)


def _task(draft: Path, found: Imported, keys: dict[str, int]) -> str:
    """Write one task and read it as the judge would; a reason when it is none, and then it is gone again."""
    assert found.task is not None
    key = found.task.key
    if key in keys:
        raise TaskError(
            f"row {found.row}: {found.id!r} makes the key {key!r}, which row {keys[key]} has",
            remedy="give every row an id of its own",
        )
    place = folders.write(draft, found.task)
    try:
        load_task(place)
    except TaskError as error:
        shutil.rmtree(place)
        return error.message.replace(f"{place.resolve()}", found.task.name).replace(
            str(place), found.task.name
        )
    keys[key] = found.row
    return ""


def _finish(draft: Path, importer: ModuleType, source: Path, options: Options, found: Intake) -> None:
    if found.blocked:
        lines = (json.dumps(row) + "\n" for row in found.blocked)
        (draft / BLOCKED).write_text("".join(lines), encoding="utf-8")
    words = {
        "name": options.pack,
        "version": "1.0.0",
        "licence": options.licence,
        "description": f"Imported from {source.name} ({importer.NAME})",
    }
    lines = (f"{name} = {json.dumps(word)}\n" for name, word in words.items())
    (draft / PACK_FILE).write_text("".join(lines), encoding="utf-8")
    if found.tasks:
        load_pack(draft)
