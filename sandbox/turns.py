"""The turns of a session over the jailer's socket: what is said, and how what travels beside it is laid out.

After `session` was answered `opened`, the client asks one of these at a time; each is answered, with `refused` if
with nothing else, and the session goes on:

| turn        | answer                                                                              |
|-------------|-------------------------------------------------------------------------------------|
| `do`        | `result`, as that of `run`; its stdin travels beside it                             |
| `stop`      | none of its own: the command that runs ends; it may be said while one does          |
| `healthy`   | `health`, once its init has answered, or not                                        |
| `broken`    | `health` as it was last known                                                       |
| `diff`      | `beside`: an index of the cap that was met, refusals, `[path, what, kind]` of each   |
| `snapshot`  | `beside`: the same with `[path, kind, mode, opaque, size]`, then the contents       |
| `artefacts` | `beside`: an index of the cap that was met, files and refusals, then the contents   |
| `reset`     | `done`                                                                              |
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, get_args

from appliance.errors import UsageError
from appliance.sandbox import codec, wire
from appliance.sandbox.artefacts import Collection, CollectLimits, Refused
from appliance.sandbox.changes import Change, Diff, Entry, Kind, Snapshot, checked, freeze
from appliance.sandbox.codec import MESSAGE_BYTES, Kinds
from appliance.sandbox.policy import Limits


class Act(StrEnum):
    """What a client may ask of its session."""

    do = "do"
    stop = "stop"
    healthy = "healthy"
    broken = "broken"
    diff = "diff"
    snapshot = "snapshot"
    artefacts = "artefacts"
    reset = "reset"


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn; `stdin` is the length, in bytes, of what travels beside it."""

    act: Act
    command: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    stdin: int = 0
    collect: CollectLimits = field(default_factory=CollectLimits)


def encode(turn: Turn) -> bytes:
    """The packet; UsageError when the command does not fit into one."""
    record = asdict(turn)
    body = codec.dumped({name: record[name] for name in _shape(turn.act)})
    if len(body) > MESSAGE_BYTES:
        raise UsageError(f"a request of {len(body)} bytes", remedy="pass large input as a file")
    return body


def decode(body: bytes) -> Turn:
    """The turn in a packet; UsageError when it is none, or asks for what no policy allows."""
    try:
        record = codec.loaded(body)
        act = Act(codec.kept(record, "act", str))
        codec.check_shape(record, _shape(act))
        if act is Act.do:
            stdin = codec.length(record["stdin"], wire.BODY_BYTES)
            return Turn(act, wire.command_of(record["command"]), wire.limits_of(record["limits"]), stdin)
        if act is Act.artefacts:
            codec.check_shape(record["collect"], _COLLECT)
            return Turn(act, collect=CollectLimits(**record["collect"]))
        return Turn(act)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not a turn of a session: {error}", remedy=wire.SAME_RELEASE) from error


def _shape(act: Act) -> Kinds:
    more: dict[Act, Kinds] = {
        Act.do: {"command": (list,), "limits": (dict,), "stdin": (int,)},
        Act.artefacts: {"collect": (dict,)},
    }
    return {"act": (str,), **more.get(act, {})}


_COLLECT: Kinds = {known.name: codec.kinds_of(known.default) for known in fields(CollectLimits)}


Parts = tuple[bytes, Sequence[bytes]]
"""An index, and the contents that it speaks of."""


def pack_tree(entries: Iterable[Entry]) -> Parts:
    """UsageError for a path that is no text."""
    kept = list(entries)
    try:
        index = [[e.path, e.kind, e.mode, e.opaque, len(e.body)] for e in kept]
        return codec.to_json(index), [e.body for e in kept]
    except UnicodeEncodeError as error:
        raise UsageError(f"a file name that is no text: {error.reason}") from error


def unpack_tree(index: bytes, contents: bytes) -> list[Entry]:
    """UsageError for anything but a tree's parts; whether it can be laid out, `changes.checked` says."""
    with wire.not_as_said():
        return _entries(codec.parsed(index), contents)


def _entries(index: object, contents: bytes) -> list[Entry]:
    rows = [codec.row(row, str, str, int, bool, int) for row in codec.rows(index)]
    bodies = _split(contents, [row[4] for row in rows])
    return [
        Entry(codec.text(path), _kind(kind), mode, body, opaque)
        for (path, kind, mode, opaque, _), body in zip(rows, bodies, strict=True)
    ]


def pack_snapshot(snapshot: Snapshot) -> Parts:
    index, contents = pack_tree(snapshot.entries)
    head = codec.to_json([snapshot.truncated, _refusals(snapshot.refused)])
    # One array of three, without parsing what may be megabytes.
    return head[:-1] + b"," + index + b"]", contents


def unpack_snapshot(index: bytes, contents: bytes) -> Snapshot:
    """UsageError for anything that no session could begin from."""
    with wire.not_as_said():
        truncated, refused, rows = codec.row(codec.parsed(index), str, list, list)
        entries = _entries(rows, contents)
    return freeze(checked(entries), _refused(refused), truncated)


def pack_diff(diff: Diff) -> Parts:
    rows = [[change.path, change.what, change.kind] for change in diff.changes]
    return codec.to_json([diff.truncated, _refusals(diff.refused), rows]), []


def unpack_diff(index: bytes) -> Diff:
    with wire.not_as_said():
        truncated, refused, changes = codec.row(codec.parsed(index), str, list, list)
        rows = [codec.row(row, str, str, str) for row in codec.rows(changes)]
        if not {row[1] for row in rows} <= {"added", "changed", "deleted"}:
            raise ValueError("a change of an unknown kind")
        found = tuple(Change(codec.text(path), what, _kind(kind)) for path, what, kind in rows)
        return Diff(found, _refused(refused), truncated)


def pack_collection(found: Collection) -> Parts:
    files = [[os.fsdecode(name), len(body)] for name, body in found.files.items()]
    return codec.to_json([found.truncated, files, _refusals(found.refused)]), list(found.files.values())


def unpack_collection(index: bytes, contents: bytes) -> Collection:
    with wire.not_as_said():
        truncated, files, refused = codec.row(codec.parsed(index), str, list, list)
        named = [codec.row(row, str, int) for row in files]
        bodies = _split(contents, [size for _, size in named])
        return Collection(
            {_raw(name): body for (name, _), body in zip(named, bodies, strict=True)},
            _refused(refused),
            truncated,
        )


def _refusals(refused: Iterable[Refused]) -> list[list[str]]:
    return [[os.fsdecode(item.name), item.reason] for item in refused]


def _refused(rows: object) -> tuple[Refused, ...]:
    reasons = [codec.row(row, str, str) for row in codec.rows(rows)]
    return tuple(Refused(_raw(name), reason) for name, reason in reasons)


def _split(contents: bytes, sizes: Sequence[int]) -> Iterator[bytes]:
    if any(size < 0 for size in sizes) or sum(sizes) != len(contents):
        raise ValueError(f"{len(contents)} bytes came, and the index speaks of {sum(sizes)}")
    at = 0
    for size in sizes:
        yield contents[at : at + size]
        at += size


def _kind(word: str) -> Any:
    if word not in get_args(Kind):
        raise ValueError(f"an entry of kind {word!r}")
    return word


def _raw(name: str) -> bytes:
    return os.fsencode(codec.text(name))
