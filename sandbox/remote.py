"""Jails through the jailer: the interface of the direct client, for a process that starts nothing itself.

A connection per jail; when it ends, however it ends, so does the jail. A busy jailer is asked again until patience
runs out. What the jailer, or the way to it, could not do is a SandboxError; a jail's own ending is a result.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from appliance.errors import SandboxError
from appliance.sandbox import parcels, wire
from appliance.sandbox.channel import Channel, Talk
from appliance.sandbox.client import JailResult
from appliance.sandbox.order import order
from appliance.sandbox.policy import Policy
from appliance.sandbox.wire import Op, Opened, Outcome, Pong, Refusal, Request, State

BUSY_PATIENCE_S = 60.0
CONNECT_PATIENCE_S = 10.0
ANSWER_PATIENCE_S = 120.0
"""On top of a command's own wall time: for a launch, a kill and a slow host."""
LONGEST_PAUSE_S = 2.0
ENDING_PATIENCE_S = 0.25
"""For the ending of a jail whose last word was heard: without it, it would be stopped on its way out."""

Heard = JailResult | Opened | Pong | State | Refusal


class RemoteJails:
    """A jailer's client, safe to use from many threads. Nothing is connected before the first jail is wanted."""

    def __init__(self, path: Path, *, patience_s: float = BUSY_PATIENCE_S) -> None:
        self._path, self._patience_s = path, patience_s
        self._lock = threading.Lock()
        self._lines: set[Line] = set()

    def run(
        self,
        command: Sequence[str],
        policy: Policy,
        *,
        files: Mapping[str, bytes] | None = None,
        stdin: bytes = b"",
    ) -> JailResult:
        """Run `command` to its end, as `Jails.run` does."""
        line, answer = self._ask(Op.run, command, policy, files, stdin)
        line.close()
        if not isinstance(answer, JailResult):
            raise _gone("it answered with something else than a result")
        return answer

    def open(
        self, command: Sequence[str], policy: Policy, *, files: Mapping[str, bytes] | None = None
    ) -> RemoteConversation:
        """Start `command` and talk to it, as `Jails.open` does; the bytes do not pass through the jailer."""
        line, answer = self._ask(Op.open, command, policy, files, b"")
        if not isinstance(answer, Opened) or line.channel is None:
            line.close()
            raise _gone("it sent no pipes")
        return RemoteConversation(line, line.channel)

    def status(self) -> State:
        """What the jailer is doing."""
        line = self._connect(CONNECT_PATIENCE_S)
        try:
            line.say(wire.encode_request(Request(Op.status)), [])
            answer = line.hear()
        finally:
            line.close()
        if isinstance(answer, Refusal):
            answer.raised()
        if not isinstance(answer, State):
            raise _gone("it answered with something else than its state")
        return answer

    @property
    def live(self) -> int:
        """Jails of this client that are running now, or about to."""
        return len(self._lines)

    def close(self) -> None:
        """End every jail of this client; who waits for one gets a SandboxError."""
        with self._lock:
            for line in self._lines:
                line.hang_up()

    def __enter__(self) -> RemoteJails:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(
        self, op: Op, command: Sequence[str], policy: Policy, files: Mapping[str, bytes] | None, stdin: bytes
    ) -> tuple[Line, Heard]:
        """Ask until the jailer is not too busy to answer."""
        wanted = order(command, policy, files, stdin)
        index, parts = wire.pack(wanted.files, stdin)
        message = wire.encode_request(Request(op, wanted.command, policy, index, len(stdin)))
        with contextlib.ExitStack() as stack:
            fds = []
            if any(parts):
                fds.append(_sealed(parts))
                stack.callback(os.close, fds[0])
            patience_s = policy.limits.wall_s + ANSWER_PATIENCE_S
            deadline, pause_s = time.monotonic() + self._patience_s, 0.0
            while True:
                line, answer = self._try(message, fds, patience_s)
                if not isinstance(answer, Refusal):
                    return line, answer
                pause_s = min(max(2 * pause_s, answer.retry_after_s or 0.0), LONGEST_PAUSE_S)
                if answer.retry_after_s is None or time.monotonic() + pause_s > deadline:
                    answer.raised()
                time.sleep(pause_s)

    def _try(self, message: bytes, fds: Sequence[int], patience_s: float) -> tuple[Line, Heard]:
        """One connection: one question, one answer; the line is closed after a refusal."""
        line = self._connect(patience_s)
        try:
            line.say(message, fds)
            answer = line.hear()
        except BaseException:
            line.close()
            raise
        if isinstance(answer, Refusal):
            line.close()
        return line, answer

    def _connect(self, patience_s: float) -> Line:
        line = Line(self._path, patience_s, self._forget)
        with self._lock:
            self._lines.add(line)
        return line

    def _forget(self, line: Line) -> None:
        with self._lock:
            self._lines.discard(line)


class Line:
    """One connection to the jailer; SandboxError when there is no way to one."""

    def __init__(self, path: Path, patience_s: float, closed: Callable[[Line], None]) -> None:
        self._patience_s, self._closed = patience_s, closed
        self.channel: Channel | None = None
        """Our ends of a conversation's pipes, once the jailer has sent them; the receiver closes them."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The default buffer of some hosts is smaller than the largest message.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * wire.MESSAGE_BYTES)
        self._socket.settimeout(CONNECT_PATIENCE_S)
        try:
            _connect(self._socket, path)
        except OSError as error:
            self._socket.close()
            raise _unreachable(path, error) from error

    def say(self, message: bytes, fds: Sequence[int]) -> None:
        try:
            parcels.send(self._socket, message, fds)
        except (BrokenPipeError, ConnectionResetError):
            # It may have refused us before we asked: its reason is still to be heard.
            return
        except OSError as error:
            raise _gone(str(error)) from error

    def hear(self) -> Heard:
        """The next answer, a result with its streams; SandboxError when there is none in time, or none at all."""
        self._socket.settimeout(self._patience_s)
        try:
            return self._heard()
        except ConnectionResetError:
            # It closed with something of ours unread; its last word comes behind the error, which comes once.
            return self._heard()

    def is_heard(self, timeout_s: float) -> bool:
        """Whether there is an answer to hear within that time."""
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        return bool(waiting.poll(timeout_s * 1000))

    def say_no_more(self) -> None:
        """Ask for the jail's end; its result can still be heard."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def hang_up(self) -> None:
        """End the connection, from any thread: not closed, because another may be reading from it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._closed(self)
        self._socket.close()

    def _heard(self) -> Heard:
        try:
            with parcels.received(self._socket, wire.MESSAGE_BYTES) as (body, fds):
                if not body:
                    raise _gone("it closed the connection")
                answer = wire.decode_answer(body)
                if isinstance(answer, Opened) and len(fds) == 2:
                    self.channel = Channel(*fds)
                    fds.clear()
                if not isinstance(answer, Outcome):
                    return answer
                streams = parcels.unseal(fds[0], answer.stdout + answer.stderr) if fds else b""
                return wire.with_streams(answer, streams)
        except ConnectionResetError:
            raise
        except TimeoutError as error:
            raise _gone(f"no answer in {self._patience_s:g} s") from error
        except (ValueError, OSError) as error:
            raise _gone(str(error)) from error


class RemoteConversation(Talk):
    """A conversation whose jail the jailer supervises."""

    def __init__(self, line: Line, channel: Channel) -> None:
        super().__init__(channel)
        self._line = line
        self._said: JailResult | SandboxError | None = None

    def _end(self) -> None:
        if not (self._at_end and self._line.is_heard(ENDING_PATIENCE_S)):
            self._line.say_no_more()
        self._said = self._last_word()
        self._line.close()

    def _ending(self) -> JailResult:
        if isinstance(self._said, SandboxError):
            raise self._said
        assert self._said is not None
        return self._said

    def _last_word(self) -> JailResult | SandboxError:
        try:
            answer = self._line.hear()
        except SandboxError as error:
            return error
        if isinstance(answer, JailResult):
            return answer
        if isinstance(answer, Refusal):
            return SandboxError(answer.message, remedy=answer.remedy)
        return _gone("it answered with something else than a result")


def _connect(line: socket.socket, path: Path) -> None:
    deadline = time.monotonic() + CONNECT_PATIENCE_S
    while True:
        try:
            return line.connect(str(path))
        except BlockingIOError:
            # More wait to be accepted than the kernel lets wait; it does not make us wait for that.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _sealed(parts: Sequence[bytes]) -> int:
    try:
        return parcels.seal(parts)
    except OSError as error:
        raise SandboxError(f"cannot hand over the files of a jail: {error}", remedy="free memory") from error


def _unreachable(path: Path, error: OSError) -> SandboxError:
    if isinstance(error, PermissionError):
        remedy = "ask for membership of the group of the socket"
    else:
        remedy = "start it with `appliance jailer`, or give the socket that it serves"
    return SandboxError(f"no jailer answers at {path}: {error.strerror or error}", remedy=remedy)


def _gone(why: str) -> SandboxError:
    remedy = "the jailer's log says more; start it again and try again"
    return SandboxError(f"the jailer is gone: {why}", remedy=remedy)
