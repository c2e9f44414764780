"""A session that the jailer serves to one client: turn by turn over the connection, until either goes.

The visit's own thread reads turns and answers them. While a command runs, the jailer's thread listens instead: the
client may say `stop`, and whatever else it says or does ends the session. What a turn holds in memory is taken from
the jailer's budget first; a turn that finds too little is refused as busy, and the session goes on.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable, Sequence

from appliance.errors import ApplianceError, SandboxError, UsageError
from appliance.sandbox import parcels, turns, wire
from appliance.sandbox.budget import Busy, Memory
from appliance.sandbox.changes import MAX_TREE_BYTES, Snapshot, checked, freeze
from appliance.sandbox.policy import Limits
from appliance.sandbox.session import Session
from appliance.sandbox.turns import Act, Turn
from appliance.sandbox.visit import deliver, ours
from appliance.sandbox.wire import Beside, Done, Health, Outcome, Refusal

PARSED = 24
"""Bytes of memory for each byte of JSON at its worst: three make an empty list and a reference to it."""
NAMES_BYTES = 8 << 20
"""Set aside for the names of a tree or a collection, which are capped by their number and depth."""


class Sitting:
    """One session over one connection. `serve` from the visit's thread, the rest from the jailer's."""

    def __init__(
        self,
        connection: socket.socket,
        session: Session,
        limits: Limits,
        memory: Memory,
        held: int,
        listen: Callable[[], None],
    ) -> None:
        """`limits` are the session's, `held` the bytes that it began with and keeps.

        `listen` has the jailer's thread call `attend` at the next word.
        """
        self._connection, self._session, self._limits = connection, session, limits
        self._memory, self._held, self._listen = memory, held, listen
        self._lock = threading.Lock()
        self._running = False
        self._over = False
        self._leaving = False
        self.commands = 0
        """How many were run."""

    def serve(self) -> None:
        """Answer turns until the client leaves; UsageError when it says what is none."""
        while not self._over and not self._leaving:
            with contextlib.ExitStack() as stack:
                turn, fds = self._next(stack)
                if turn is None:
                    break
                self._answer(turn, fds)
        if self._leaving:
            raise SandboxError(
                "the jailer was stopped: its sessions are gone", remedy="start it, begin another"
            )

    def attend(self) -> bool:
        with self._lock:
            if not self._running:
                # The visit's own thread reads it.
                return False
            # What woke us may have been the turn itself, which is read by now.
            if not self._is_heard():
                return True
            if self._says_stop():
                self._session.stop()
                return True
            self._over = True
            self._session.stop()
            return False

    def leave(self) -> None:
        with self._lock:
            self._leaving = True
            if not self._running:
                self._hear_no_more()

    def end(self) -> None:
        with self._lock:
            self._leaving = self._over = True
            self._session.stop()
            self._hear_no_more()

    def _hear_no_more(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RD)

    def _is_heard(self) -> bool:
        waiting = select.poll()
        waiting.register(self._connection, select.POLLIN)
        return bool(waiting.poll(0))

    def _says_stop(self) -> bool:
        try:
            with parcels.received(self._connection, wire.MESSAGE_BYTES) as (body, _):
                return bool(body) and turns.decode(body).act is Act.stop
        except (OSError, ValueError, UsageError):
            return False

    def _next(self, stack: contextlib.ExitStack) -> tuple[Turn | None, list[int]]:
        """The next turn, however long it takes to come; None at the end."""
        waiting = select.poll()
        waiting.register(self._connection, select.POLLIN)
        waiting.poll()
        try:
            body, fds = stack.enter_context(parcels.received(self._connection, wire.MESSAGE_BYTES))
        except ValueError as error:
            raise UsageError(str(error)) from error
        return (turns.decode(body), fds) if body else (None, [])

    def _answer(self, turn: Turn, fds: Sequence[int]) -> None:
        if turn.act is Act.stop:
            # It came too late: no command runs.
            return
        try:
            with self._memory.take(self._needed(turn, fds)):
                deliver(self._connection, *self._carried_out(turn, fds))
        except ApplianceError as error:
            deliver(self._connection, refusal(error))

    def _needed(self, turn: Turn, fds: Sequence[int]) -> int:
        """The bytes that a turn may hold here at its worst."""
        match turn.act:
            case Act.do:
                return output_bytes(turn.limits) + 2 * size_of(fds, wire.BODY_BYTES)
            case Act.artefacts:
                disk = self._limits.disk_mb << 20
                most = min(turn.collect.total_bytes, disk) + min(turn.collect.file_bytes, disk)
                return 2 * (most + NAMES_BYTES)
            case Act.snapshot | Act.diff:
                return 2 * (min(self._limits.disk_mb << 20, MAX_TREE_BYTES) + NAMES_BYTES) + self._held
        return 0

    def _carried_out(self, turn: Turn, fds: Sequence[int]) -> tuple[wire.Answer, Sequence[bytes]]:
        session = self._session
        with ours():
            match turn.act:
                case Act.do:
                    return self._run(turn, fds)
                case Act.diff:
                    return _beside(turns.pack_diff(session.diff()))
                case Act.snapshot:
                    return _beside(turns.pack_snapshot(session.snapshot()))
                case Act.artefacts:
                    return _beside(turns.pack_collection(session.artefacts(turn.collect)))
                case Act.reset:
                    session.reset()
                    return Done(), ()
        healthy = session.healthy() if turn.act is Act.healthy else not session.broken
        return Health(healthy, session.broken), ()

    def _run(self, turn: Turn, fds: Sequence[int]) -> tuple[wire.Answer, Sequence[bytes]]:
        stdin = body_of(fds, wire.BODY_BYTES)
        if len(stdin) != turn.stdin:
            raise UsageError(f"{len(stdin)} bytes of stdin came, not {turn.stdin}", remedy=wire.SAME_RELEASE)
        self.commands += 1
        with self._session.running():
            self._set_running(True)
            try:
                self._listen()
                result = self._session.run(turn.command, limits=turn.limits, stdin=stdin)
            finally:
                self._set_running(False)
        if self._leaving and self._over:
            raise SandboxError("the jailer was stopped before the command had ended", remedy="start it again")
        return Outcome(result, len(result.stdout), len(result.stderr)), (result.stdout, result.stderr)

    def _set_running(self, running: bool) -> None:
        with self._lock:
            self._running = running


def beginning(request: wire.Request, body: bytes) -> dict[str, bytes] | Snapshot:
    """What a session is to begin with, from what came beside its request."""
    if not request.tree:
        return wire.unpack(request.index, 0, body)[0]
    return freeze(checked(turns.unpack_tree(body[: request.index], body[request.index :])))


def refusal(error: ApplianceError) -> Refusal:
    """An error as the client is told of it."""
    retry_after_s = error.retry_after_s if isinstance(error, Busy) else None
    return Refusal(error.kind, error.message, error.remedy, retry_after_s)


def output_bytes(limits: Limits) -> int:
    """What a command's two streams may hold here: as they are read, and as they are handed on."""
    return 2 * 2 * (limits.output_kb << 10)


def index_bytes(request: wire.Request, fds: Sequence[int]) -> int:
    """What an index may hold here while it is read."""
    return PARSED * min(request.index, size_of(fds, request.most))


def size_of(fds: Sequence[int], most: int) -> int:
    """The bytes that came beside a message; UsageError when they are not to be read."""
    try:
        return parcels.size(fds[0], most) if fds else 0
    except ValueError as error:
        raise UsageError(str(error)) from error


def body_of(fds: Sequence[int], most: int) -> bytes:
    try:
        return parcels.unseal(fds[0], most) if fds else b""
    except ValueError as error:
        raise UsageError(str(error)) from error


def _beside(parts: turns.Parts) -> tuple[wire.Answer, Sequence[bytes]]:
    index, contents = parts
    return Beside(len(index), sum(map(len, contents))), (index, *contents)
