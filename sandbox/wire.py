"""What the jailer and its clients say to each other: pure encoding and decoding, nothing is sent here.

A message is one JSON object in one packet, with `v`, the version. What may be big travels beside it as bytes (in a
sealed memory file, see `parcels`) whose layout the message gives: a request's is an index, the contents that it
speaks of, then stdin; a result's is stdout, stderr, then the report of an audit. A client sends one request per
connection. Whatever it does next, a word more, half a close or a whole one, ends its jail; only in a session it goes
on with turns, one at a time, and may say `stop` while a command runs (see `turns`).

| request   | answers                                                                              |
|-----------|--------------------------------------------------------------------------------------|
| `run`     | `result`, when the command has ended                                                 |
| `audit`   | the same, with what the command did                                                  |
| `open`    | `opened` with two descriptors (to read, to write), then `result`                     |
| `session` | `opened`, then an answer to each turn                                                |
| `status`  | `state`                                                                              |
| `ping`    | `pong`                                                                               |

Any of them may be answered with `refused`. Decoding is strict, as `codec` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, NoReturn

from appliance.errors import BY_KIND, ApplianceError, SandboxError, UsageError
from appliance.sandbox import codec
from appliance.sandbox.auditing import MAX_REPORT_BYTES
from appliance.sandbox.changes import MAX_TREE_BYTES
from appliance.sandbox.codec import NUMBER, Kinds
from appliance.sandbox.ending import JailResult, JailStatus
from appliance.sandbox.job import MAX_BYTES
from appliance.sandbox.policy import Limits, Policy

MESSAGE_BYTES = codec.MESSAGE_BYTES
INDEX_BYTES = 16 << 20
BODY_BYTES = INDEX_BYTES + 2 * MAX_BYTES
"""Index, files and stdin of one request."""
TREE_INDEX_BYTES = 64 << 20
TREE_BYTES = TREE_INDEX_BYTES + MAX_TREE_BYTES
"""What a session begins with, or is kept of one."""
CONTENTS_BYTES = 1 << 40
"""Of the files of a collection; the jailer's own cap is lower."""
SAME_RELEASE = "run jailer and client from the same release"


class Op(StrEnum):
    """What a client may ask for."""

    run = "run"
    audit = "audit"
    open = "open"
    session = "session"
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
    image: str = ""
    """A name or a digest of the jailer's image store; empty is its host's own."""
    tree: bool = False
    """A session begins with a whole tree instead of plain files."""
    idle_s: float = 0.0
    """How long a session waits for its next command."""

    @property
    def most(self) -> int:
        """The most bytes that may travel beside it."""
        return TREE_BYTES if self.tree else BODY_BYTES


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result without its streams, whose lengths in bytes it gives."""

    result: JailResult
    stdout: int
    stderr: int
    report: int = 0
    """Of an audit."""

    @property
    def size(self) -> int:
        return self.stdout + self.stderr + self.report


@dataclass(frozen=True, slots=True)
class Opened:
    """The conversation, or the session, may begin."""


@dataclass(frozen=True, slots=True)
class Done:
    """A turn that has nothing to tell is done."""


@dataclass(frozen=True, slots=True)
class Health:
    """Of a session."""

    healthy: bool
    broken: str


@dataclass(frozen=True, slots=True)
class Beside:
    """What a turn asked for travels beside this: an index of so many bytes, then so many of contents."""

    index: int
    contents: int

    @property
    def size(self) -> int:
        return self.index + self.contents


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
    sessions: int
    """Sessions that are open."""
    most_sessions: int
    """Sessions it keeps open at once."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why not. `retry_after_s` is set when the jailer is only busy."""

    kind: str
    message: str
    remedy: str = ""
    retry_after_s: float | None = None

    def raised(self) -> NoReturn:
        """Raise it as the error that the direct client would have raised."""
        raise self.error()

    def error(self) -> ApplianceError:
        return BY_KIND.get(self.kind, SandboxError)(self.message, remedy=self.remedy)


Answer = Outcome | Opened | Done | Health | Beside | Pong | State | Refusal


def encode_request(request: Request) -> bytes:
    """The packet; UsageError when command and environment do not fit into one."""
    record = asdict(request)
    try:
        body = codec.dumped({name: record[name] for name in _REQUESTS[request.op]})
    except UnicodeEncodeError as error:
        raise UsageError(f"a name, an argument or a variable that is no text: {error.reason}") from error
    if len(body) > MESSAGE_BYTES:
        raise UsageError(f"a request of {len(body)} bytes", remedy="pass large input as a file")
    return body


def decode_request(body: bytes) -> Request:
    """The request in a packet; UsageError when it is none, or asks for what no policy allows."""
    try:
        record = codec.loaded(body)
        kinds = _REQUESTS[Op(codec.kept(record, "op", str))]
        codec.check_shape(record, kinds)
        request = Request(**{name: _READERS[name](value) for name, value in record.items()})
        codec.length(request.index, TREE_INDEX_BYTES if request.tree else INDEX_BYTES)
        return request
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not a request: {error}", remedy=SAME_RELEASE) from error


def encode_answer(answer: Answer) -> bytes:
    """The packet; text that might not fit into it is cut."""
    match answer:
        case Outcome(result, stdout, stderr, report):
            record = asdict(replace(result, stdout=b"", stderr=b"", detail=codec.cut(result.detail)))
            lengths = {"stdout": stdout, "stderr": stderr, "report": report}
            return codec.dumped({**record, "is": "result", **lengths})
        case Refusal():
            answer = replace(answer, message=codec.cut(answer.message), remedy=codec.cut(answer.remedy))
        case Health():
            answer = replace(answer, broken=codec.cut(answer.broken))
    return codec.dumped({"is": _WORDS[type(answer)], **asdict(answer)})


def decode_answer(body: bytes) -> Answer:
    """The answer in a packet; SandboxError when it is none."""
    try:
        record = codec.loaded(body)
        kind = codec.kept(record, "is", str)
        if kind not in _ANSWERS:
            raise ValueError(f"an answer of kind {kind!r}")
        kinds, made = _ANSWERS[kind]
        codec.check_shape(record, kinds)
        del record["is"]
        return made(record)
    except (ValueError, RecursionError) as error:
        raise SandboxError(f"the jailer's answer cannot be read: {error}", remedy=SAME_RELEASE) from error


def pack(files: Mapping[str, bytes], stdin: bytes) -> tuple[int, list[bytes]]:
    """What travels beside a request: the length of its index, and its parts."""
    try:
        index = codec.to_json([[name, len(body)] for name, body in files.items()]) if files else b""
    except UnicodeEncodeError as error:
        raise UsageError(f"a file name that is no text: {error.reason}") from error
    if len(index) > INDEX_BYTES:
        raise UsageError(f"file names of more than {INDEX_BYTES >> 20} MiB for one jail")
    return len(index), [index, *files.values(), stdin]


def unpack(index: int, stdin: int, body: bytes) -> tuple[dict[str, bytes], bytes]:
    """Files and stdin from what came beside a request, by the lengths it gave; UsageError when they do not fit."""
    with not_as_said():
        files: dict[str, bytes] = {}
        at, end = index, len(body) - stdin
        for name, size in _entries(body[:index]):
            if name in files:
                raise ValueError(f"{name!r} comes twice")
            files[name] = body[at : at + size]
            at += size
        if at != end:
            raise ValueError(f"{len(body)} bytes came, and the index speaks of {at + stdin}")
        return files, body[at:]


@contextmanager
def not_as_said() -> Iterator[None]:
    """A complaint about what came beside a message is a UsageError."""
    try:
        yield
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not what a request says: {error}", remedy=SAME_RELEASE) from error


def with_streams(outcome: Outcome, body: bytes) -> tuple[JailResult, bytes]:
    """The whole result, and the report of an audit; SandboxError when what came beside it is of another length."""
    if len(body) != outcome.size:
        raise SandboxError("the jailer's answer lacks output of the command", remedy=SAME_RELEASE)
    stderr, report = outcome.stdout, outcome.stdout + outcome.stderr
    return replace(outcome.result, stdout=body[:stderr], stderr=body[stderr:report]), body[report:]


_ORDER: Kinds = {
    "op": (str,),
    "command": (list,),
    "policy": (dict,),
    "index": (int,),
    "stdin": (int,),
    "image": (str,),
}
_SESSION: Kinds = {
    "op": (str,),
    "policy": (dict,),
    "index": (int,),
    "image": (str,),
    "tree": (bool,),
    "idle_s": NUMBER,
}
_ONLY_OP: Kinds = {"op": (str,)}
_REQUESTS: dict[Op, Kinds] = {
    **dict.fromkeys((Op.run, Op.audit, Op.open), _ORDER),
    Op.session: _SESSION,
    **dict.fromkeys((Op.status, Op.ping), _ONLY_OP),
}
LIMITS: Kinds = {known.name: codec.kinds_of(known.default) for known in fields(Limits)}
_MORE: Kinds = {
    known.name: codec.kinds_of(known.default)
    for known in fields(Policy)
    if known.name not in ("limits", "env")
}
"""Plain settings of a policy."""
_POLICY: Kinds = {"limits": (dict,), "env": (list,), **_MORE}
_BARE: Kinds = {"is": (str,)}
_RESULT: Kinds = {
    **dict.fromkeys(("is", "status", "limits", "detail"), (str,)),
    **dict.fromkeys(("exit_code", "signal"), (int, type(None))),
    **dict.fromkeys(("stdout", "stderr", "report"), (int,)),
    **dict.fromkeys(("cpu_s", "wall_s"), NUMBER),
    "peak_mib": (*NUMBER, type(None)),
}
_STATE: Kinds = {"is": (str,), **{known.name: (int,) for known in fields(State)}}
_HEALTH: Kinds = {"is": (str,), "healthy": (bool,), "broken": (str,)}
_BESIDE: Kinds = {"is": (str,), "index": (int,), "contents": (int,)}
_REFUSAL: Kinds = {
    **dict.fromkeys(("is", "kind", "message", "remedy"), (str,)),
    "retry_after_s": (*NUMBER, type(None)),
}


def _outcome(record: dict[str, Any]) -> Outcome:
    if record["limits"] not in ("full", "reduced"):
        raise ValueError(f"limits {record['limits']!r}")
    report = codec.length(record.pop("report"), MAX_REPORT_BYTES)
    stdout, stderr = (codec.length(record[name], _LONGEST_STREAM) for name in ("stdout", "stderr"))
    streams = {"status": JailStatus(record["status"]), "stdout": b"", "stderr": b""}
    return Outcome(JailResult(**(record | streams)), stdout, stderr, report)


def _beside(record: dict[str, Any]) -> Beside:
    index = codec.length(record["index"], TREE_INDEX_BYTES)
    return Beside(index, codec.length(record["contents"], CONTENTS_BYTES))


_ANSWERS: dict[str, tuple[Kinds, Callable[[dict[str, Any]], Answer]]] = {
    "result": (_RESULT, _outcome),
    "opened": (_BARE, lambda record: Opened()),
    "done": (_BARE, lambda record: Done()),
    "health": (_HEALTH, lambda record: Health(**record)),
    "beside": (_BESIDE, _beside),
    "pong": (_BARE, lambda record: Pong()),
    "state": (_STATE, lambda record: State(**record)),
    "refused": (_REFUSAL, lambda record: Refusal(**record)),
}
_WORDS: dict[type, str] = {
    Opened: "opened",
    Done: "done",
    Health: "health",
    Beside: "beside",
    Pong: "pong",
    State: "state",
    Refusal: "refused",
}
_LONGEST_STREAM = 1 << 30


def limits_of(record: dict[str, Any]) -> Limits:
    """Limits; the constructor checks the values, and refuses with an error of its own."""
    codec.check_shape(record, LIMITS)
    return Limits(**record)


def command_of(parts: list[object]) -> tuple[str, ...]:
    return tuple(codec.text(part) for part in parts)


def _policy(record: dict[str, Any]) -> Policy:
    codec.check_shape(record, _POLICY)
    pairs = []
    for pair in record["env"]:
        name, value = codec.row(pair, str, str)
        pairs.append((codec.text(name), codec.text(value)))
    more = {name: record[name] for name in _MORE}
    return Policy(limits_of(record["limits"]), tuple(pairs), **more)


_READERS: dict[str, Callable[[Any], Any]] = {
    "op": Op,
    "command": command_of,
    "policy": _policy,
    "index": int,
    "stdin": lambda value: codec.length(value, BODY_BYTES),
    "image": codec.text,
    "tree": bool,
    "idle_s": float,
}


def _entries(index: bytes) -> Iterable[tuple[str, int]]:
    for entry in codec.rows(codec.parsed(index)) if index else []:
        name, size = codec.row(entry, str, int)
        yield codec.text(name), codec.length(size, MAX_BYTES)
