"""The jailer: the one process that starts jails, for every client that may write to its socket.

It keeps nothing between requests and trusts no client with its life. A connection is one visit: a request, perhaps a
jail, an answer. A visit that has not asked yet costs a descriptor and a few seconds; one that has asked has a thread;
jails are bounded, and beyond the bound the answer is a refusal that says when to try again. When a client says
anything more or its connection ends, its jail is killed and removed. Bytes of a conversation never come here: the
client is given the jail's pipes.

Run as `python -m appliance.sandbox.jailer --socket PATH`, or as `appliance jailer`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from appliance.clean import clean_line
from appliance.errors import ApplianceError, SandboxError, UsageError
from appliance.paths import Paths, from_environment
from appliance.sandbox import janitor, parcels, wire
from appliance.sandbox.client import JailResult, Jails, explained
from appliance.sandbox.jail import Jail
from appliance.sandbox.order import order
from appliance.sandbox.seat import Peer, Seat, announce, peer_of
from appliance.sandbox.wire import Op, Outcome, Refusal, Request

MOST_JAILS = 64
MAX_VISITS = 1024
"""Connections at once, whatever they do."""
SPARE_THREADS = 64
"""For visits that want no jail, or are about to be refused one."""
PATIENCE_S = 5.0
"""For a request to come, and for an answer to be taken."""
RETRY_AFTER_S = 0.25
GRACE_S = 5.0
KILL_PATIENCE_S = 20.0
LOG_CHARS = 300
MOST_DESCRIPTORS = 1 << 16
"""What the spawner closes in a child."""
_JOIN = "ask for membership of the group of the jailer's socket"

_MORE = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLONESHOT

Log = Callable[[str], None]


@dataclass(slots=True)
class Visit:
    """One connection, from its acceptance to its close."""

    connection: socket.socket
    peer: Peer
    deadline: float
    """When it must have sent its request, in seconds of the monotonic clock."""
    asked: bool = False
    """Its request is there; a thread has it."""
    _jail: Jail | None = None
    _ended: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def hold(self, jail: Jail) -> None:
        """Have `jail` end with this visit, which may already be over."""
        with self._lock:
            self._jail = jail
            if self._ended:
                jail.stop()

    def end(self) -> None:
        """End the jail, now or as soon as there is one."""
        with self._lock:
            self._ended = True
            if self._jail is not None:
                self._jail.stop()


class Jailer:
    """Serves a listening socket until `stop`. `serve` from one thread, `stop` from any, or from a signal handler."""

    def __init__(
        self, jails: Jails, seat: Seat, log: Log, *, most: int = MOST_JAILS, grace_s: float = GRACE_S
    ) -> None:
        self._jails, self._seat, self._log, self._grace_s = jails, seat, log, grace_s
        self._most = most
        self._free = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self._visits: dict[int, Visit] = {}
        self._live = 0
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
            self._jails.close()
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
        self._settle(self._grace_s)
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
            self._turn_away(visit, _busy("too many connections"))
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
            visit.end()
            return
        visit.asked = True
        if threading.active_count() > self._most + SPARE_THREADS:
            self._turn_away(visit, _busy("too many requests"))
            return
        try:
            threading.Thread(target=self._attend, args=(visit,), name="visit", daemon=True).start()
        except RuntimeError as error:
            self._turn_away(visit, _busy(f"no thread for it: {error}"))

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
            self._refuse(visit, Refusal(error.kind, error.message, error.remedy))
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
            if request.op in (Op.run, Op.open):
                self._serve_jail(visit, request, fds)
        if request.op is Op.ping:
            parcels.send(visit.connection, wire.encode_answer(wire.Pong()))
        elif request.op is Op.status:
            state = wire.State(os.getpid(), self._live, self._most)
            parcels.send(visit.connection, wire.encode_answer(state))

    def _serve_jail(self, visit: Visit, request: Request, fds: list[int]) -> None:
        if self._stopping:
            raise _stopped()
        if not self._free.acquire(blocking=False):
            self._refuse(visit, _busy(f"all {self._most} jails are in use"))
            return
        self._count(1)
        began = time.monotonic()
        try:
            # From here on, whatever the client does ends its jail.
            self._epoll.modify(visit.connection, _MORE)
            with _as_ours():
                result = self._supervise(visit, self._start(request, fds))
        finally:
            self._count(-1)
            self._free.release()
        if self._killing:
            raise _stopped()
        spent = f"{time.monotonic() - began:.3f} s"
        self._log(f"{request.op} for {visit.peer}: {result.status} in {spent} {result.detail}")
        _deliver(visit.connection, result)

    def _start(self, request: Request, fds: list[int]) -> Jail:
        try:
            body = parcels.unseal(fds[0], wire.BODY_BYTES) if fds else b""
        except ValueError as error:
            raise UsageError(str(error)) from error
        files, stdin = wire.unpack(request, body)
        wanted = order(request.command, request.policy, files, stdin)
        return self._jails.start(wanted, conversing=request.op is Op.open)

    def _supervise(self, visit: Visit, jail: Jail) -> JailResult:
        """Hand over the pipes of a conversation, and see the jail to its end."""
        visit.hold(jail)
        if jail.channel is not None:
            try:
                ends = [jail.channel.read, jail.channel.write]
                parcels.send(visit.connection, wire.encode_answer(wire.Opened()), ends)
            except OSError:
                jail.stop()
            jail.channel.close()
        return explained(jail, jail.supervise())

    def _count(self, step: int) -> None:
        with self._lock:
            self._live += step


def _deliver(connection: socket.socket, result: JailResult) -> None:
    with contextlib.ExitStack() as stack:
        fds = []
        if result.stdout or result.stderr:
            with _as_ours():
                fds = [parcels.seal([result.stdout, result.stderr])]
            stack.callback(os.close, fds[0])
        outcome = Outcome(result, len(result.stdout), len(result.stderr))
        parcels.send(connection, wire.encode_answer(outcome), fds)


@contextlib.contextmanager
def _as_ours() -> Iterator[None]:
    """An OSError in here is this host's, not the connection's."""
    try:
        yield
    except OSError as error:
        remedy = "free memory, or allow more open files (ulimit -n)"
        raise SandboxError(f"the jailer cannot do it: {error}", remedy=remedy) from error


def _busy(why: str) -> Refusal:
    remedy = "try again later, or start the jailer with a larger --max-jails"
    return Refusal("busy", f"the jailer is busy: {why}", remedy, RETRY_AFTER_S)


def _stopped() -> SandboxError:
    return SandboxError(
        "the jailer was stopped before the command had ended", remedy="start it and try again"
    )


def log_to_stderr(text: str) -> None:
    """One line; a supervisor adds the time. A reader of it that is gone is no reason to end."""
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), f"jailer: {clean_line(text, LOG_CHARS)}\n".encode())


def serve(
    paths: Paths, path: Path, *, most: int = MOST_JAILS, grace_s: float = GRACE_S, warm: bool = False
) -> None:
    """Be the jailer at `path` until SIGTERM or SIGINT; SandboxError when this cannot be.

    What a crashed predecessor left is removed first.
    """
    if most < 1 or not grace_s >= 0:
        raise UsageError(f"--max-jails {most} --grace {grace_s:g}", remedy="at least 1 jail and 0 seconds")
    log = log_to_stderr
    _allow_descriptors()
    seat = Seat(path)
    for text in janitor.clean_up():
        log(text)
    jails = Jails(paths, warm=warm)
    jails.prepare_host()
    jailer = Jailer(jails, seat, log, most=most, grace_s=grace_s)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: _obey(jailer))
    log(f"serving {path}, at most {most} jails")
    announce("READY=1")
    jailer.serve()
    log("stopped")


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
    parser.add_argument("--warm", action="store_true", help="keep jails ready")
    parser.add_argument("--grace", type=float, default=GRACE_S, help="seconds for running jails at the end")
    options = parser.parse_args(arguments)
    try:
        paths = from_environment(os.environ)
        serve(paths, options.socket, most=options.max_jails, grace_s=options.grace, warm=options.warm)
    except ApplianceError as error:
        print(f"jailer: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
