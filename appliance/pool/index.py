"""The cards of a pack, and the index that a large pack keeps of them: opening 100,000 folders takes minutes.

`index.jsonl` lies beside the task folders and is no content of a task. Its first line says the format, the hash of
`pack.toml`, the number of the tasks and the hash of the lines that follow: a card each, with the name of its folder
in place of the path. What an index cannot know is whether a file of a task changed since: that is checked of those
that are drawn (`appliance.pool.library`).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from appliance.errors import TaskError
from appliance.nouns import Card, Task
from appliance.quality import TABLE
from appliance.tasks import PACK_FILE, POOL_FILE, load_pack, read_pack

FILE = "index.jsonl"
FORMAT = 1
_FOLDER = Card._fields.index("folder")


def card_of(task: Task) -> Card:
    """What is kept in memory of a task."""
    table = task.settings.get(TABLE)
    return Card(
        task.key,
        task.kind,
        task.split,
        task.tier,
        task.cluster,
        task.family,
        task.folder,
        task.image,
        task.task_hash,
        json.dumps(table, sort_keys=True) if table is not None else "",
    )


def load_cards(pack: Path) -> tuple[Card, ...]:
    """The cards of a pack in order of key: from its index where it has one, else from its tasks.

    Raises what `load_pack` does, and TaskError for an index that does not belong to what lies there.
    """
    if not (pack / FILE).exists():
        return tuple(map(card_of, load_pack(pack)))
    read_pack(pack)
    rows = _read(pack)
    _check_folders(pack, {row[_FOLDER] for row in rows})
    root = f"{pack.resolve()}{os.sep}"
    return tuple(_card(row, root) for row in rows)


def write_index(pack: Path) -> int:
    """Check every task of a pack and write its index anew; the number of tasks. Raises what `load_pack` does."""
    cards = [card_of(task) for task in load_pack(pack)]
    rows = [[*card[:_FOLDER], Path(card.folder).name, *card[_FOLDER + 1 :]] for card in cards]
    body = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()
    head = {"format": FORMAT, "pack": _pack_hash(pack), "tasks": len(rows), "sha256": _sha256(body)}
    draft = pack / f".{FILE}.{os.getpid()}"
    try:
        draft.write_bytes(json.dumps(head).encode() + b"\n" + body)
        draft.replace(pack / FILE)
    finally:
        draft.unlink(missing_ok=True)
    return len(rows)


def _card(row: list[str], root: str) -> Card:
    key, kind, split, tier, cluster, family, name, image, content, quality = row
    # What many tasks share is held once.
    shared = map(sys.intern, (kind, split, tier, image, quality))
    kind, split, tier, image, quality = shared
    cluster, family = sys.intern(cluster), sys.intern(family)
    return Card(key, kind, split, tier, cluster, family, root + name, image, content, quality)


def _read(pack: Path) -> list[list[str]]:
    """The lines of an index as it was written for this pack."""
    head, _, body = (pack / FILE).read_bytes().partition(b"\n")
    try:
        told: Any = json.loads(head)
        sound = told["format"] == FORMAT and told["sha256"] == _sha256(body)
    except (ValueError, TypeError, KeyError):
        sound = False
    if not sound:
        raise _stale(pack, "is damaged, or of another version of the appliance")
    if told["pack"] != _pack_hash(pack):
        raise _stale(pack, f"is older than {PACK_FILE}")
    rows: list[list[str]] = json.loads(b"[" + body.rstrip(b"\n").replace(b"\n", b",") + b"]")
    return rows


def _check_folders(pack: Path, known: set[str]) -> None:
    """Refuse an index that lists folders which are not there, or does not list tasks which are."""
    with os.scandir(pack) as found:
        there = {child.name for child in found if child.is_dir()}
    if gone := known - there:
        raise _stale(pack, f"lists {_some(gone)}, which the pack does not hold")
    new = [name for name in there - known if os.path.lexists(f"{pack}/{name}/{POOL_FILE}")]
    if new:
        raise _stale(pack, f"does not list {_some(new)}")


def _some(names: Iterable[str]) -> str:
    found: Sequence[str] = sorted(names)
    return ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")


def _stale(pack: Path, why: str) -> TaskError:
    return TaskError(f"{pack / FILE} {why}", remedy=f"appliance task index {pack}")


def _pack_hash(pack: Path) -> str:
    return _sha256((pack / PACK_FILE).read_bytes())


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
