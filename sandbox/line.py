"""One connection to the jailer, from its client's side: what is said, what is heard, and what goes wrong on the way."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from appliance.errors import SandboxError
from appliance.sandbox import parcels, wire
from appliance.sandbox.channel import Channel
from appliance.sandbox.ending import CLOSED, STOPPED, JailResult, JailStatus
from appliance.sandbox.wire import Answer, Beside, Opened, Outcome, Refusal

CONNECT_PATIENCE_S = 10.0
ANSWER_PATIENCE_S = 120.0
"""On top of a command's own wall time: for a launch, a kill and a slow host."""
LONGEST_PAUSE_S = 2.0


class Line:
    """One connection to the jailer; SandboxError when there is no way to one."""

    def __init__(self, path: Path, patience_s: float, closed: Callable[[Line], None]) -> None:
        self.patience_s, self._closed = patience_s, closed
        self.channel: Channel | None = None
        """Our ends of a conversation's pipes, once the jailer has sent them; the receiver closes them."""
        self.is_cut = False
        """Its client was closed."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The default buffer of some hosts is smaller than the largest message.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * wire.MESSAGE_BYTES)
        self._socket.settimeout(CONNECT_PATIENCE_S)
        try:
            _connect(self._socket, path)
        except OSError as error:
            self._socket.close()
            raise _unreachable(path, error) from error

    def say(self, message: bytes, fds: Sequence[int] = ()) -> None:
        try:
            parcels.send(self._socket, message, fds)
        except (BrokenPipeError, ConnectionResetError):
            # It may have refused us before we asked: its reason is still to be heard.
            return
        except OSError as error:
            raise gone(str(error)) from error

    def hear(self) -> tuple[Answer, bytes]:
        """The next answer and what came beside it; SandboxError when there is none in time, or none at all."""
        self._socket.settimeout(self.patience_s)
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
        """Ask for the end, from any thread; what there is to say of it can still be heard."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        """The same because the client is closed: that is not held against a command that runs."""
        self.is_cut = True
        self.say_no_more()

    def close(self) -> None:
        self._closed(self)
        self._socket.close()

    def result_of(self, answer: Answer, body: bytes) -> tuple[JailResult, bytes]:
        """The result that was answered, and an audit's report; SandboxError when it was something else."""
        if isinstance(answer, Refusal):
            answer.raised()
        if not isinstance(answer, Outcome):
            raise gone("it answered with something else than a result")
        result, report = wire.with_streams(answer, body)
        if self.is_cut and result.detail == STOPPED:
            result = replace(result, status=JailStatus.infra, exit_code=None, signal=None, detail=CLOSED)
        return result, report

    def _heard(self) -> tuple[Answer, bytes]:
        try:
            with parcels.received(self._socket, wire.MESSAGE_BYTES) as (body, fds):
                if not body:
                    raise gone("it closed the connection")
                answer = wire.decode_answer(body)
                if isinstance(answer, Opened) and len(fds) == 2:
                    self.channel = Channel(*fds)
                    fds.clear()
                size = answer.size if isinstance(answer, Outcome | Beside) else 0
                return answer, parcels.unseal(fds[0], size) if fds else b""
        except ConnectionResetError:
            raise
        except TimeoutError as error:
            raise gone(f"no answer in {self.patience_s:g} s") from error
        except (ValueError, OSError) as error:
            raise gone(str(error)) from error


@contextlib.contextmanager
def sealed(parts: Sequence[bytes]) -> Iterator[list[int]]:
    """What is to travel beside a message, as its descriptors: none when there is nothing."""
    with contextlib.ExitStack() as stack:
        fds = []
        if any(parts):
            try:
                fds = [parcels.seal(parts)]
            except OSError as error:
                why = f"cannot hand over the files of a jail: {error}"
                raise SandboxError(why, remedy="free memory") from error
            stack.callback(os.close, fds[0])
        yield fds


class Patience:
    """With a busy jailer: how long to ask again, and how long to wait between."""

    def __init__(self, patience_s: float) -> None:
        self._deadline, self._pause_s = time.monotonic() + patience_s, 0.0

    def wait(self, refusal: Refusal) -> None:
        """Wait until it is time to ask again; raises the refusal when it is final, or patience has run out."""
        self._pause_s = min(max(2 * self._pause_s, refusal.retry_after_s or 0.0), LONGEST_PAUSE_S)
        if refusal.retry_after_s is None or time.monotonic() + self._pause_s > self._deadline:
            refusal.raised()
        time.sleep(self._pause_s)


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


def _unreachable(path: Path, error: OSError) -> SandboxError:
    if isinstance(error, PermissionError):
        remedy = "ask for membership of the group of the socket"
    else:
        remedy = "start it with `appliance jailer`, or give the socket that it serves"
    return SandboxError(f"no jailer answers at {path}: {error.strerror or error}", remedy=remedy)


def gone(why: str) -> SandboxError:
    remedy = "the jailer's log says more; start it again and try again"
    return SandboxError(f"the jailer is gone: {why}", remedy=remedy)
