"""What the jailer and its clients say to each other: pure encoding and decoding, nothing is sent here.

A message is one JSON object in one packet, with `v`, the version. What may be big travels beside it as bytes (in a
sealed memory file, see `parcels`) whose layout the message gives: a request's is the index of the job's files, their
contents, then stdin; a result's is stdout, then stderr. A client sends one request per connection. Whatever it does
next, a word more, half a close or a whole one, ends its jail.

| request  | answers                                                                              |
|----------|--------------------------------------------------------------------------------------|
| `run`    | `result`, when the command has ended                                                 |
| `open`   | `opened` with two descriptors (to read, to write), then `result`                     |
| `status` | `state`                                                                              |
| `ping`   | `pong`                                                                               |

Any of them may be answered with `refused`. Decoding is strict: exactly the known keys, exactly the known types. Text
may hold bytes that are not UTF-8, as Python's file names do; they travel as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, NoReturn

from appliance.errors import SandboxError, UsageError
from appliance.sandbox.ending import JailResult, JailStatus
from appliance.sandbox.job import MAX_BYTES
from appliance.sandbox.policy import Limits, Policy

VERSION = 1
MESSAGE_BYTES = 192 * 1024
INDEX_BYTES = 16 << 20
BODY_BYTES = INDEX_BYTES + 2 * MAX_BYTES
"""Index, files and stdin of one request."""

_NUMBER = (int, float)


class Op(StrEnum):
    """What a client may ask for."""

    run = "run"
    open = "open"
    status = "status"
    ping = "ping"


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `index` and `stdin` are the lengths, in bytes, of parts of what travels beside it."""

    op: Op
    command: tuple[str, ...] = ()
    policy: Policy = field(default_factory=Policy)
    index: int = 0
    stdin: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result without its streams, whose lengths in bytes it gives."""

    result: JailResult
    stdout: int
    stderr: int


@dataclass(frozen=True, slots=True)
class Opened:
    """The conversation may begin."""


@dataclass(frozen=True, slots=True)
class Pong:
    """The jailer is there."""


@dataclass(frozen=True, slots=True)
class State:
    """What the jailer is doing."""

    pid: int
    live: int
    """Jails that are running."""
    most: int
    """Jails it runs at once."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why not. `retry_after_s` is set when the jailer is only busy."""

    kind: str
    message: str
    remedy: str = ""
    retry_after_s: float | None = None

    def raised(self) -> NoReturn:
        """Raise it as the error that the direct client would have raised."""
        kind = UsageError if self.kind == UsageError.kind else SandboxError
        raise kind(self.message, remedy=self.remedy)


Answer = Outcome | Opened | Pong | State | Refusal


def encode_request(request: Request) -> bytes:
    """The packet; UsageError when command and environment do not fit into one."""
    record: dict[str, Any] = {"op": request.op}
    if request.op in (Op.run, Op.open):
        record |= asdict(request)
    try:
        body = _dumped(record)
    except UnicodeEncodeError as error:
        raise UsageError(f"an argument or a variable that is no text: {error.reason}") from error
    if len(body) > MESSAGE_BYTES:
        raise UsageError(f"a request of {len(body)} bytes", remedy="pass large input as a file")
    return body


def decode_request(body: bytes) -> Request:
    """The request in a packet; UsageError when it is none, or asks for what no policy allows."""
    try:
        record = _loaded(body)
        op = Op(_kept(record, "op", str))
        if op in (Op.status, Op.ping):
            _shape(record, {"op": (str,)})
            return Request(op)
        _shape(record, _ORDER)
        command = tuple(_text(part) for part in record["command"])
        index, stdin = _length(record["index"], INDEX_BYTES), _length(record["stdin"], BODY_BYTES)
        return Request(op, command, _policy(record["policy"]), index, stdin)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not a request: {error}", remedy=_SAME_RELEASE) from error


def encode_answer(answer: Answer) -> bytes:
    """The packet; text that might not fit into it is cut."""
    match answer:
        case Outcome(result, stdout, stderr):
            record = asdict(replace(result, stdout=b"", stderr=b"", detail=_cut(result.detail)))
            return _dumped(record | {"is": "result", "stdout": stdout, "stderr": stderr})
        case Refusal():
            short = replace(answer, message=_cut(answer.message), remedy=_cut(answer.remedy))
            return _dumped({"is": "refused", **asdict(short)})
        case State():
            return _dumped({"is": "state", **asdict(answer)})
        case Opened():
            return _dumped({"is": "opened"})
        case Pong():
            return _dumped({"is": "pong"})


def decode_answer(body: bytes) -> Answer:
    """The answer in a packet; SandboxError when it is none."""
    try:
        record = _loaded(body)
        kind = _kept(record, "is", str)
        if kind not in _ANSWERS:
            raise ValueError(f"an answer of kind {kind!r}")
        kinds, made = _ANSWERS[kind]
        _shape(record, kinds)
        del record["is"]
        return made(record)
    except (ValueError, RecursionError) as error:
        raise SandboxError(f"the jailer's answer cannot be read: {error}", remedy=_SAME_RELEASE) from error


def pack(files: Mapping[str, bytes], stdin: bytes) -> tuple[int, list[bytes]]:
    """What travels beside a request: the length of its index, and its parts."""
    if len(stdin) > MAX_BYTES:
        raise UsageError(f"more than {MAX_BYTES >> 20} MiB of stdin for one jail")
    try:
        index = _json([[name, len(body)] for name, body in files.items()]) if files else b""
    except UnicodeEncodeError as error:
        raise UsageError(f"a file name that is no text: {error.reason}") from error
    if len(index) > INDEX_BYTES:
        raise UsageError(f"file names of more than {INDEX_BYTES >> 20} MiB for one jail")
    return len(index), [index, *files.values(), stdin]


def unpack(request: Request, body: bytes) -> tuple[dict[str, bytes], bytes]:
    """Files and stdin from what came beside `request`; UsageError when it is not what the request says."""
    try:
        names = _parsed(body[: request.index]) if request.index else []
        end = len(body) - request.stdin
        files, at = {}, request.index
        for name, size in _entries(names):
            if name in files:
                raise ValueError(f"{name!r} comes twice")
            files[name] = body[at : at + size]
            at += size
        if at != end:
            raise ValueError(f"{len(body)} bytes came, and the index speaks of {at + request.stdin}")
        return files, body[at:]
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not what a request says: {error}", remedy=_SAME_RELEASE) from error


def with_streams(outcome: Outcome, body: bytes) -> JailResult:
    """The whole result; SandboxError when what came beside it is of another length."""
    if len(body) != outcome.stdout + outcome.stderr:
        raise SandboxError("the jailer's answer lacks output of the command", remedy=_SAME_RELEASE)
    return replace(outcome.result, stdout=body[: outcome.stdout], stderr=body[outcome.stdout :])


def _kinds(default: object) -> tuple[type, ...]:
    return _NUMBER if type(default) is float else (type(default),)


_Kinds = Mapping[str, tuple[type, ...]]
_ORDER: _Kinds = {"op": (str,), "command": (list,), "policy": (dict,), "index": (int,), "stdin": (int,)}
_LIMITS: _Kinds = {known.name: _kinds(known.default) for known in fields(Limits)}
_MORE: _Kinds = {
    known.name: _kinds(known.default) for known in fields(Policy) if known.name not in ("limits", "env")
}
"""Plain settings of a policy."""
_POLICY: _Kinds = {"limits": (dict,), "env": (list,), **_MORE}
_BARE: _Kinds = {"is": (str,)}
_RESULT: _Kinds = {
    **dict.fromkeys(("is", "status", "limits", "detail"), (str,)),
    **dict.fromkeys(("exit_code", "signal"), (int, type(None))),
    **dict.fromkeys(("stdout", "stderr"), (int,)),
    **dict.fromkeys(("cpu_s", "wall_s"), _NUMBER),
    "peak_mib": (*_NUMBER, type(None)),
}
_STATE: _Kinds = {"is": (str,), **dict.fromkeys(("pid", "live", "most"), (int,))}
_REFUSAL: _Kinds = {
    **dict.fromkeys(("is", "kind", "message", "remedy"), (str,)),
    "retry_after_s": (*_NUMBER, type(None)),
}


def _outcome(record: dict[str, Any]) -> Outcome:
    if record["limits"] not in ("full", "reduced"):
        raise ValueError(f"limits {record['limits']!r}")
    stdout, stderr = (_length(record[name], _LONGEST_STREAM) for name in ("stdout", "stderr"))
    streams = {"status": JailStatus(record["status"]), "stdout": b"", "stderr": b""}
    return Outcome(JailResult(**(record | streams)), stdout, stderr)


_ANSWERS: dict[str, tuple[_Kinds, Callable[[dict[str, Any]], Answer]]] = {
    "result": (_RESULT, _outcome),
    "opened": (_BARE, lambda record: Opened()),
    "pong": (_BARE, lambda record: Pong()),
    "state": (_STATE, lambda record: State(**record)),
    "refused": (_REFUSAL, lambda record: Refusal(**record)),
}
_LONGEST_STREAM = 1 << 30
_SAME_RELEASE = "run jailer and client from the same release"
_TEXT_CHARS = 8 * 1024


def _policy(record: dict[str, Any]) -> Policy:
    """Limits and variables; the constructors check the values, and refuse with errors of their own."""
    _shape(record, _POLICY)
    _shape(record["limits"], _LIMITS)
    pairs = []
    for pair in record["env"]:
        name, value = pair if type(pair) is list and len(pair) == 2 else (None, None)
        pairs.append((_text(name), _text(value)))
    more = {name: record[name] for name in _MORE}
    return Policy(Limits(**record["limits"]), tuple(pairs), **more)


def _entries(names: object) -> Iterable[tuple[str, int]]:
    if type(names) is not list:
        raise ValueError("the index of files is not a list")
    for entry in names:
        name, size = entry if type(entry) is list and len(entry) == 2 else (None, None)
        yield _text(name), _length(size, MAX_BYTES)


def _shape(record: dict[str, Any], kinds: _Kinds) -> None:
    """Refuse anything but an object of exactly these keys and exact types: True is no number here."""
    if record.keys() != kinds.keys():
        raise ValueError(f"not an object with just {', '.join(kinds)}")
    for name, allowed in kinds.items():
        if type(record[name]) not in allowed:
            raise ValueError(f"{name} is a {type(record[name]).__name__}")


def _kept(record: dict[str, Any], name: str, kind: type) -> Any:
    value = record.get(name)
    if type(value) is not kind:
        raise ValueError(f"{name} is missing or of a wrong type")
    return value


def _text(value: object) -> str:
    """Text that has bytes: JSON can spell halves of characters, which have none."""
    if type(value) is not str:
        raise ValueError(f"a {type(value).__name__} where text belongs")
    value.encode("utf-8", "surrogateescape")
    return value


def _cut(text: str) -> str:
    """For a person, so a packet is sure to hold it."""
    return text[:_TEXT_CHARS].encode("utf-8", "backslashreplace").decode()


def _length(value: object, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError("a length that is no number, or out of bounds")
    return value


def _dumped(record: dict[str, Any]) -> bytes:
    return _json({"v": VERSION, **record})


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape")


def _loaded(body: bytes) -> dict[str, Any]:
    """The object in a packet, without its version; ValueError when it is none of this version."""
    if len(body) > MESSAGE_BYTES:
        raise ValueError("the message is too long")
    record = _parsed(body)
    if type(record) is not dict:
        raise ValueError("not an object")
    version = record.pop("v", None)
    if type(version) is not int or version != VERSION:
        raise ValueError(f"version {str(version)[:20]!r}; this side speaks {VERSION}")
    return record


def _parsed(body: bytes) -> Any:
    text = body.decode("utf-8", "surrogateescape")
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a key given twice, two readers could believe two values."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key is given twice")
    return record


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")
