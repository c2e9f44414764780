"""The control protocol: what is asked of the daemon over its Unix socket, and the client.

One connection is one question: a frame `{"v": 1, "verb": …, "args": {…}}`, answered by one frame with `result` or
with `error` (kind, message, remedy). Nothing unknown is passed over: another version, verb, argument or type is a
UsageError. `READS` change nothing; every one of `CHANGES` is written into the event chain with the caller's uid.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance import frames
from appliance.errors import BY_KIND, ApplianceError, StoreError, UsageError
from appliance.paths import runtime_folder
from appliance.tables import Field, check_table, nearest

VERSION = 1
MAX_REQUEST_BYTES = 256 * 1024
MAX_REPLY_BYTES = 4 * 1024 * 1024
ANSWER_S = 60.0
"""Longest wait for an answer: a new run's packs are read before it is queued."""
LONGEST_NAME = 200

_RUN = {"run": Field(str)}
READS: dict[str, Mapping[str, Field]] = {"ping": {}, "status": {}}
CHANGES: dict[str, Mapping[str, Field]] = {
    "run.start": {"recipe": Field(dict), "origins": Field(dict)},
    "run.pause": _RUN,
    "run.resume": _RUN,
    "run.stop": _RUN | {"now": Field(bool)},
    "job.cancel": {"job": Field(str)},
    "job.requeue": {"job": Field(str)},
    "review.decide": {"item": Field(int), "word": Field(str), "note": Field(str, required=False)},
}
_REQUEST = {"v": Field(int), "verb": Field(str), "args": Field(dict)}
_HEADER = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Command:
    """One question, checked."""

    verb: str
    args: Mapping[str, Any]

    @property
    def changes(self) -> bool:
        return self.verb in CHANGES


def default_path(env: Mapping[str, str]) -> Path:
    """Where a daemon's socket is unless somebody says otherwise."""
    return runtime_folder(env, root=os.geteuid() == 0) / "control.sock"


# what the daemon reads and writes


def parse_length(header: bytes) -> int:
    """The length of a question's body from its four bytes; UsageError when it is over the cap or nothing."""
    (length,) = _HEADER.unpack(header)
    if not 0 < length <= MAX_REQUEST_BYTES:
        raise UsageError(f"a question of {length} bytes", remedy=f"1 to {MAX_REQUEST_BYTES} bytes")
    return int(length)


def parse_command(body: bytes) -> Command:
    """Check a question strictly. Raises UsageError."""
    try:
        message = frames.decode(body)
    except frames.FrameError as error:
        raise UsageError(str(error), remedy="send one JSON object") from None
    if type(message.get("v")) is int and message["v"] != VERSION:
        raise UsageError(
            f"control protocol {message['v']}, this daemon speaks {VERSION}",
            remedy="use the client and the daemon of one version",
        )
    check_table("question", message, _REQUEST, UsageError)
    verb, args = message["verb"], message["args"]
    known = READS | CHANGES
    if verb not in known:
        raise UsageError(f"no verb {verb[:LONGEST_NAME]!r}", remedy=nearest(verb[:LONGEST_NAME], known))
    check_table(verb, args, known[verb], UsageError)
    if any(isinstance(value, str) and len(value) > LONGEST_NAME for value in args.values()):
        raise UsageError(f"{verb}: a name is over {LONGEST_NAME} characters", remedy="give an id as listed")
    return Command(verb, args)


def encode_result(result: Mapping[str, Any]) -> bytes:
    return frames.encode({"v": VERSION, "result": dict(result)})


def encode_error(error: ApplianceError) -> bytes:
    told = {"kind": error.kind, "message": error.message, "remedy": error.remedy}
    return frames.encode({"v": VERSION, "error": told})


# the client


def ask(path: Path, verb: str, args: Mapping[str, Any] | None = None, *, wait_s: float = ANSWER_S) -> Any:
    """Ask the daemon at `path` and return its result.

    Raises what the daemon raised, and StoreError when nobody answers there within `wait_s` seconds.
    """
    question = {"v": VERSION, "verb": verb, "args": dict(args or {})}
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(wait_s)
            line.connect(str(path))
            line.sendall(frames.encode(question))
            with line.makefile("rb") as stream:
                answer = frames.read(stream, MAX_REPLY_BYTES)
    except (OSError, frames.FrameError) as error:
        raise _no_answer(path, error) from error
    if answer is None:
        raise _no_answer(path, EOFError("it hung up"))
    if failure := answer.get("error"):
        raise BY_KIND.get(str(failure.get("kind")), ApplianceError)(
            str(failure.get("message")), remedy=str(failure.get("remedy"))
        )
    return answer.get("result", {})


def _no_answer(path: Path, error: Exception) -> StoreError:
    remedy = "see whether the daemon runs (appliance status); look at its log, and try again"
    if isinstance(error, PermissionError):
        remedy = "ask for membership of the group of the daemon's socket"
    return StoreError(f"no answer from the daemon at {path}: {error}", remedy=remedy)
