"""The jailer: the one process that starts jails, for every client that may write to its socket.

It keeps nothing between requests but sessions, and trusts no client with its life. A connection is one visit: a
request, perhaps a jail, an answer; or a session and its turns. A visit that has not asked yet costs a descriptor and a
few seconds; one that has asked has a thread; jails, sessions and the memory for what they are given and say are
bounded, and beyond the bound the answer is a refusal that says when to try again. When a client says anything more or
its connection ends, its jail is killed and removed. Bytes of a conversation never come here: the client is given the
jail's pipes.

Run as `python -m appliance.sandbox.jailer --socket PATH`, or as `appliance jailer`.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from appliance.clean import clean_line
from appliance.errors import ApplianceError, SandboxError, UsageError
from appliance.paths import Paths, from_environment
from appliance.sandbox import janitor, parcels, wire
from appliance.sandbox.auditing import MAX_REPORT_BYTES, Recording
from appliance.sandbox.budget import Budget, Memory, busy
from appliance.sandbox.client import JailResult, Jails, explained
from appliance.sandbox.jail import Jail
from appliance.sandbox.order import order
from appliance.sandbox.seat import Seat, announce, peer_of
from appliance.sandbox.sitting import Sitting, beginning, body_of, index_bytes, output_bytes, refusal, size_of
from appliance.sandbox.stock import Stock
from appliance.sandbox.visit import OneJail, Visit, deliver, ours
from appliance.sandbox.wire import Op, Opened, Outcome, Refusal, Request

M_MMAP_THRESHOLD, LARGE_BYTES = -3, 1 << 20

MOST_JAILS = 64
MOST_SESSIONS = 256
"""They live long, and so have places of their own."""
MEMORY_MB = 1024
"""For what came with requests and what is to be answered, until the client has it."""
MAX_VISITS = 1024
"""Connections at once, whatever they do."""
SPARE_THREADS = 96
"""For visits that want no jail, or are about to be refused one, and for what keeps jails of each image ready."""
PATIENCE_S = 5.0
"""For a request to come, and for an answer to be taken."""
GRACE_S = 5.0
KILL_PATIENCE_S = 20.0
LOG_CHARS = 300
MOST_DESCRIPTORS = 1 << 16
"""What the spawner closes in a child."""
_JOIN = "ask for membership of the group of the jailer's socket"

_MORE = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLONESHOT

Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a jailer gives at once, to all its clients together."""

    jails: int = MOST_JAILS
    sessions: int = MOST_SESSIONS
    memory_mb: int = MEMORY_MB
    grace_s: float = GRACE_S
    """How long running jails are left at the end."""

    def __post_init__(self) -> None:
        if self.jails < 1 or self.sessions < 0 or self.memory_mb < 1 or not self.grace_s >= 0:
            raise UsageError(
                f"--max-jails {self.jails} --max-sessions {self.sessions} --memory-mb {self.memory_mb} "
                f"--grace {self.grace_s:g}",
                remedy="at least 1 jail, 0 sessions, 1 MiB and 0 seconds",
            )


class Jailer:
    """Serves a listening socket until `stop`. `serve` from one thread, `stop` from any, or from a signal handler."""

    def __init__(self, stock: Stock, seat: Seat, log: Log, bounds: Bounds) -> None:
        self._stock, self._seat, self._log, self._bounds = stock, seat, log, bounds
        self._jails = Budget(bounds.jails, f"all {bounds.jails} jails are in use", "--max-jails")
        self._sessions = Budget(
            bounds.sessions, f"all {bounds.sessions} sessions are in use", "--max-sessions"
        )
        self._memory = Memory(bounds.memory_mb << 20)
        self._visits: dict[int, Visit] = {}
        self._stopping = False
        self._killing = False
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._epoll = select.epoll()

    def stop(self) -> None:
        """Take no more visits; end once jails have had their grace."""
        self._stopping = True
        if self._wake >= 0:
            os.eventfd_write(self._wake, 1)

    def serve(self) -> None:
        """Serve until `stop`, then give running jails their grace, kill the rest and close everything."""
        listener = self._seat.listener
        self._epoll.register(self._wake, select.EPOLLIN)
        self._epoll.register(listener, select.EPOLLIN)
        try:
            while not self._stopping:
                self._turn(listener)
            self._seat.close()
            self._finish()
        finally:
            self._seat.close()
            self._stock.close()
            self._epoll.close()
            # A signal may still call `stop`, when the number is another file's.
            wake, self._wake = self._wake, -1
            os.close(wake)

    def _turn(self, listener: socket.socket | None, longest_s: float = 1.0) -> None:
        """Handle what has happened, waiting for it no longer than `longest_s`."""
        ready = [fd for fd, _ in self._epoll.poll(longest_s if self._visits else None)]
        for fd in ready:
            if visit := self._visits.get(fd):
                self._attend_to(visit)
        # Newcomers last: one may get the number of a connection whose last event is in this list.
        if listener is not None and listener.fileno() in ready:
            self._accept(listener)
        self._drop_silent(time.monotonic())

    def _finish(self) -> None:
        """The end: nobody new, then everybody out."""
        self._epoll.unregister(self._wake)
        self._drop_silent(float("inf"))
        for visit in list(self._visits.values()):
            visit.leave()
        self._settle(self._bounds.grace_s)
        self._killing = True
        for visit in list(self._visits.values()):
            visit.end()
        self._settle(KILL_PATIENCE_S)

    def _settle(self, patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        while self._visits and time.monotonic() < deadline:
            self._turn(None, 0.05)

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError as error:
            # Out of descriptors, most likely; others must end before there are more.
            self._log(f"cannot accept: {error}")
            time.sleep(0.05)
            return
        visit = Visit(connection, peer_of(connection), time.monotonic() + PATIENCE_S)
        self._visits[connection.fileno()] = visit
        if not self._seat.admits(visit.peer):
            self._turn_away(visit, Refusal("denied", f"uid {visit.peer.uid} may not use this jailer", _JOIN))
        elif len(self._visits) > MAX_VISITS:
            self._turn_away(visit, refusal(busy("too many connections", "limit")))
        else:
            self._epoll.register(connection, _MORE)

    def _refuse(self, visit: Visit, refusal: Refusal) -> None:
        self._log(f"refused {visit.peer}: {refusal.message}")
        with contextlib.suppress(OSError):
            visit.connection.send(wire.encode_answer(refusal), socket.MSG_DONTWAIT)

    def _turn_away(self, visit: Visit, refusal: Refusal) -> None:
        """Answer without looking at the request."""
        self._refuse(visit, refusal)
        self._close(visit)

    def _close(self, visit: Visit) -> None:
        # Forgotten first: once it is closed, another may get the number of its descriptor.
        self._visits.pop(visit.connection.fileno(), None)
        visit.connection.close()

    def _attend_to(self, visit: Visit) -> None:
        """A visit's connection has something to read, or is over."""
        if visit.asked:
            if visit.attend():
                self._listen(visit)
            return
        visit.asked = True
        if threading.active_count() > self._bounds.jails + self._bounds.sessions + SPARE_THREADS:
            self._turn_away(visit, refusal(busy("too many requests", "--max-jails")))
            return
        try:
            threading.Thread(target=self._attend, args=(visit,), name="visit", daemon=True).start()
        except RuntimeError as error:
            self._turn_away(visit, refusal(busy(f"no thread for it: {error}", "limit on tasks")))

    def _drop_silent(self, now: float) -> None:
        for visit in list(self._visits.values()):
            if not visit.asked and visit.deadline <= now:
                self._log(f"dropped {visit.peer}: no request in {PATIENCE_S:g} s")
                self._close(visit)

    def _attend(self, visit: Visit) -> None:
        """In the visit's own thread: from the request to the answer."""
        try:
            visit.connection.settimeout(PATIENCE_S)
            self._handle(visit)
        except ApplianceError as error:
            self._refuse(visit, refusal(error))
        except OSError as error:
            self._log(f"lost {visit.peer}: {error}")
        finally:
            self._close(visit)

    def _handle(self, visit: Visit) -> None:
        with contextlib.ExitStack() as stack:
            try:
                body, fds = stack.enter_context(parcels.received(visit.connection, wire.MESSAGE_BYTES))
            except ValueError as error:
                raise UsageError(str(error)) from error
            if not body:
                raise ConnectionResetError("it left without a request")
            request = wire.decode_request(body)
            if request.op is Op.session:
                self._serve_session(visit, request, fds)
            elif request.op in (Op.run, Op.audit, Op.open):
                self._serve_jail(visit, request, fds)
        if request.op is Op.ping:
            parcels.send(visit.connection, wire.encode_answer(wire.Pong()))
        elif request.op is Op.status:
            parcels.send(visit.connection, wire.encode_answer(self._state()))

    def _state(self) -> wire.State:
        jails, sessions = self._jails, self._sessions
        return wire.State(os.getpid(), jails.taken, jails.most, sessions.taken, sessions.most)

    @contextlib.contextmanager
    def _place(self, places: Budget, request: Request) -> Iterator[Jails]:
        """A place among so many, and the jails of the image that a request wants."""
        if self._stopping:
            raise _stopped()
        with places.take(), self._stock.jails(request.image) as jails:
            yield jails

    def _serve_jail(self, visit: Visit, request: Request, fds: list[int]) -> None:
        needed = 2 * size_of(fds, request.most) + output_bytes(request.policy.limits)
        with self._memory.take(needed + (2 * MAX_REPORT_BYTES if request.op is Op.audit else 0)):
            outcome, report = self._outcome(visit, request, fds)
            result = outcome.result
            deliver(visit.connection, outcome, [result.stdout, result.stderr, report])

    def _outcome(self, visit: Visit, request: Request, fds: list[int]) -> tuple[Outcome, bytes]:
        """What became of a single command, and what an audit reported."""
        began = time.monotonic()
        with self._place(self._jails, request) as jails:
            # From here on, whatever the client does ends its jail.
            self._listen(visit)
            with ours(), contextlib.ExitStack() as stack:
                recording = stack.enter_context(Recording()) if request.op is Op.audit else None
                with self._memory.take(index_bytes(request, fds)):
                    jail = _started(jails, request, fds, recording)
                result = _supervised(visit, jail)
                report = recording.whole() if recording else b""
        if self._killing:
            raise _stopped()
        spent = f"{time.monotonic() - began:.3f} s"
        self._log(f"{request.op} for {visit.peer}: {result.status} in {spent} {result.detail}")
        return Outcome(result, len(result.stdout), len(result.stderr), len(report)), report

    def _serve_session(self, visit: Visit, request: Request, fds: list[int]) -> None:
        with contextlib.ExitStack() as stack:
            held = size_of(fds, request.most)
            stack.enter_context(self._memory.take(held))
            jails = stack.enter_context(self._place(self._sessions, request))
            with ours(), self._memory.take(held + index_bytes(request, fds)):
                start = beginning(request, body_of(fds, request.most))
                session = stack.enter_context(jails.session(request.policy, start, idle_s=request.idle_s))
            limits = request.policy.limits
            sitting = Sitting(
                visit.connection, session, limits, self._memory, held, lambda: self._listen(visit)
            )
            visit.hold(sitting)
            self._log(f"session for {visit.peer} begins")
            deliver(visit.connection, Opened())
            try:
                sitting.serve()
            finally:
                self._log(f"session for {visit.peer} ends after {sitting.commands} commands")

    def _listen(self, visit: Visit) -> None:
        """Let the main thread hear what the client says next."""
        self._epoll.modify(visit.connection, _MORE)


def _started(jails: Jails, request: Request, fds: list[int], recording: Recording | None) -> Jail:
    files, stdin = wire.unpack(request.index, request.stdin, body_of(fds, request.most))
    wanted = order(request.command, request.policy, files, stdin)
    return jails.start(wanted, conversing=request.op is Op.open, recording=recording)


def _supervised(visit: Visit, jail: Jail) -> JailResult:
    """Hand over the pipes of a conversation, and see the jail to its end."""
    visit.hold(OneJail(jail))
    if jail.channel is not None:
        try:
            ends = [jail.channel.read, jail.channel.write]
            parcels.send(visit.connection, wire.encode_answer(Opened()), ends)
        except OSError:
            jail.stop()
        jail.channel.close()
    return explained(jail, jail.supervise())


def _stopped() -> SandboxError:
    return SandboxError(
        "the jailer was stopped before the command had ended", remedy="start it and try again"
    )


def log_to_stderr(text: str) -> None:
    """One line; a supervisor adds the time. A reader of it that is gone is no reason to end."""
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), f"jailer: {clean_line(text, LOG_CHARS)}\n".encode())


def serve(paths: Paths, path: Path, bounds: Bounds | None = None, *, warm: bool = False) -> None:
    """Be the jailer at `path` until SIGTERM or SIGINT; SandboxError when this cannot be.

    What a crashed predecessor left is removed first.
    """
    bounds = bounds or Bounds()
    log = log_to_stderr
    _allow_descriptors()
    _give_memory_back()
    seat = Seat(path)
    for text in janitor.clean_up():
        log(text)
    stock = Stock(paths, warm=warm)
    stock.prepare()
    jailer = Jailer(stock, seat, log, bounds)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: _obey(jailer))
    log(f"serving {path}, at most {bounds.jails} jails and {bounds.sessions} sessions")
    announce("READY=1")
    jailer.serve()
    log("stopped")


def _give_memory_back() -> None:
    """Have large blocks returned to the system when they are freed; glibc, left alone, learns to keep them."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)


def _allow_descriptors() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < min(hard, MOST_DESCRIPTORS):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, MOST_DESCRIPTORS), hard))


def _obey(jailer: Jailer) -> None:
    announce("STOPPING=1")
    jailer.stop()


def main(arguments: list[str] | None = None) -> int:
    """The command line of the process; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m appliance.sandbox.jailer")
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--max-jails", type=int, default=MOST_JAILS)
    parser.add_argument("--max-sessions", type=int, default=MOST_SESSIONS)
    parser.add_argument("--memory-mb", type=int, default=MEMORY_MB, help="for requests in hand, MiB")
    parser.add_argument("--warm", action="store_true", help="keep jails ready")
    parser.add_argument("--grace", type=float, default=GRACE_S, help="seconds for running jails at the end")
    options = parser.parse_args(arguments)
    try:
        bounds = Bounds(options.max_jails, options.max_sessions, options.memory_mb, options.grace)
        serve(from_environment(os.environ), options.socket, bounds, warm=options.warm)
    except ApplianceError as error:
        print(f"jailer: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
