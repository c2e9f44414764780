"""Change records: who moved a task from which state to which, at which content, and why. Each is bound to the last.

hash = SHA-256(previous hash, newline, canonical JSON of every other field); `previous` of the first is sixty-four
zeros. The store keeps one chain over all tasks; the file `CHANGES.jsonl` of a task folder, which is no content of
the task, keeps one of its own, a record a line, so that a pack can be handed on with its history.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from appliance.errors import IntegrityError, StoreError
from appliance.manifest import read_tree
from appliance.nouns import Task

State = Literal["draft", "auto_validated", "in_review", "approved", "active", "quarantined", "retired"]
GENESIS = "0" * 64
FILE = "CHANGES.jsonl"


@dataclass(frozen=True, slots=True)
class Approval:
    """Who agreed: a numeric uid, and the name that was given."""

    actor: int
    name: str


@dataclass(frozen=True, slots=True)
class Change:
    """One record. `before` equals `after` where an approval was given and another one is still wanted."""

    seq: int
    time: float
    """Unix seconds."""
    task_key: str
    task_hash: str
    version: str
    before: State
    after: State
    actor: int
    """Numeric uid of the caller."""
    name: str
    reason: str
    evidence: int | None
    """The newest admission battery of the task at that time, by its id in the store."""
    alarm: str
    author: str
    split: str
    cluster: str
    approvals: tuple[Approval, ...]
    """All that count towards this state, the newest last."""
    hashes: Mapping[str, str]
    """`public`, `hidden`, `environment`, `interface` (kind, entry point), `judging` (the other settings)."""
    files: Mapping[str, tuple[str, bool]]
    """Path to SHA-256 and executable bit: the content that `task_hash` stands for."""
    measured: Mapping[str, Any]
    """What the battery measured, in short, of a record that travels without the store."""
    previous: str
    hash: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Change:
        """ValueError, TypeError or KeyError for what is no record."""
        found = dict(data)
        found["approvals"] = tuple(Approval(**one) for one in found["approvals"])
        found["files"] = {path: (str(digest), bool(mark)) for path, (digest, mark) in found["files"].items()}
        return cls(**found)


def digest(change: Change) -> str:
    """The hash that a record must carry."""
    content = change.to_json()
    del content["hash"], content["previous"]
    body = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{change.previous}\n{body}".encode()).hexdigest()


def link(previous: Change | None, change: Change) -> Change:
    """The record as it follows `previous` in a chain (None: it is the first)."""
    seq = previous.seq + 1 if previous else 1
    bound = replace(change, seq=seq, previous=previous.hash if previous else GENESIS)
    return replace(bound, hash=digest(bound))


def of_task(
    task: Task,
    before: State,
    after: State,
    *,
    time: float,
    actor: int,
    name: str,
    reason: str,
    evidence: int | None = None,
    alarm: str = "",
    approvals: Sequence[Approval] = (),
    measured: Mapping[str, Any] | None = None,
) -> Change:
    """A record of the task as it is now, not yet in a chain."""
    return Change(
        seq=0,
        time=float(time),
        task_key=task.key,
        task_hash=task.task_hash,
        version=task.version,
        before=before,
        after=after,
        actor=actor,
        name=name,
        reason=reason,
        evidence=evidence,
        alarm=alarm,
        author=task.author,
        split=task.split,
        cluster=task.cluster,
        approvals=tuple(approvals),
        hashes=hashes_of(task),
        files=files_of(Path(task.folder)),
        measured=dict(measured or {}),
        previous="",
        hash="",
    )


def hashes_of(task: Task) -> dict[str, str]:
    """The hashes of the parts of a task that its version speaks of."""
    return {
        "public": task.public_hash,
        "hidden": task.hidden_hash,
        "environment": task.env_hash,
        "interface": _hash([task.kind, task.entry_point]),
        "judging": _hash(dict(task.settings)),
    }


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def files_of(folder: Path) -> dict[str, tuple[str, bool]]:
    """Every file of a task folder that counts as content: path to SHA-256 and executable bit."""
    return {entry.path: (entry.sha256, entry.executable) for entry in read_tree(folder)}


def verify(changes: Iterable[Change], what: str) -> int:
    """Recompute a chain and return its length; IntegrityError names the first record of `what` that does not hold."""
    before, count = GENESIS, 0
    for count, change in enumerate(changes, start=1):
        if (change.seq, change.previous, change.hash) != (count, before, digest(change)):
            raise IntegrityError(
                f"{what}: record {count} does not follow the chain", remedy="compare with a backup"
            )
        before = change.hash
    return count


# the file of a task folder


def read(folder: Path) -> tuple[Change, ...]:
    """The verified records of a task folder, the oldest first; none where there is no file. Raises IntegrityError."""
    changes = lines(folder)
    verify(changes, str(folder / FILE))
    return changes


def lines(folder: Path) -> tuple[Change, ...]:
    """The records of a task folder as they stand there, whether their chain holds or not. Raises IntegrityError."""
    path = folder / FILE
    try:
        found = path.read_bytes().splitlines()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise IntegrityError(f"{path}: {error.strerror}", remedy="check its permissions") from None
    return tuple(_line(path, number, line) for number, line in enumerate(found, start=1))


def _line(path: Path, number: int, line: bytes) -> Change:
    try:
        return Change.from_json(json.loads(line))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise IntegrityError(
            f"{path}: line {number} is no change record", remedy="compare with a backup"
        ) from None


def append(folder: Path, changes: Iterable[Change]) -> tuple[Change, ...]:
    """Add records to the file of a task folder, each bound to the last; return them as they stand there.

    IntegrityError where the file does not hold, StoreError where it cannot be written.
    """
    past = read(folder)
    last, added = (past[-1] if past else None), []
    for change in changes:
        last = link(last, change)
        added.append(last)
    _replace(folder / FILE, (*past, *added))
    return tuple(added)


def _replace(path: Path, changes: Sequence[Change]) -> None:
    """Write the file anew, whole or not at all."""
    draft = path.with_name(f".{path.name}.new")
    try:
        with draft.open("w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(change.to_json(), sort_keys=True) + "\n" for change in changes)
            stream.flush()
            os.fsync(stream.fileno())
        draft.rename(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StoreError(f"{path}: {error.strerror}", remedy="make the folder writable") from None


def same(one: Change, other: Change) -> bool:
    """Whether two records say the same, whatever chain they are in."""
    return replace(one, seq=0, previous="", hash="") == replace(other, seq=0, previous="", hash="")
