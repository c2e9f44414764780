"""Jails through the jailer: the interface of the direct client, for a process that starts nothing itself.

A connection per jail or session; when it ends, however it ends, so does the jail. A busy jailer is asked again until
patience runs out. What the jailer, or the way to it, could not do is a SandboxError; a jail's own ending is a result.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from weakref import WeakSet

from appliance.errors import ApplianceError, SandboxError
from appliance.sandbox import auditing, changes, turns, wire
from appliance.sandbox.auditing import AuditReport
from appliance.sandbox.changes import Snapshot
from appliance.sandbox.channel import Channel, Talk
from appliance.sandbox.ending import JailResult
from appliance.sandbox.line import ANSWER_PATIENCE_S, CONNECT_PATIENCE_S, Line, Patience, gone, sealed
from appliance.sandbox.order import order
from appliance.sandbox.policy import Policy
from appliance.sandbox.remote_session import RemoteSession
from appliance.sandbox.session import IDLE_S, check_idle
from appliance.sandbox.wire import Answer, Op, Opened, Refusal, Request, State

BUSY_PATIENCE_S = 60.0
ENDING_PATIENCE_S = 0.25
"""For the ending of a jail whose last word was heard: without it, it would be stopped on its way out."""


class RemoteJails:
    """A jailer's client, safe to use from many threads. Nothing is connected before the first jail is wanted."""

    def __init__(self, path: Path, *, image: str = "", patience_s: float = BUSY_PATIENCE_S) -> None:
        """`image`: a name or a digest of the jailer's image store; empty is its host's own."""
        self._path, self._image, self._patience_s = path, image, patience_s
        self._lock = threading.Lock()
        self._lines: set[Line] = set()
        self._sessions: WeakSet[RemoteSession] = WeakSet()
        self._closings = 0

    def run(
        self,
        command: Sequence[str],
        policy: Policy,
        *,
        files: Mapping[str, bytes] | None = None,
        stdin: bytes = b"",
    ) -> JailResult:
        """Run `command` to its end, as `Jails.run` does."""
        return self._whole(Op.run, command, policy, files, stdin)[0]

    def audit(
        self,
        command: Sequence[str],
        policy: Policy,
        *,
        files: Mapping[str, bytes] | None = None,
        stdin: bytes = b"",
    ) -> tuple[JailResult, AuditReport]:
        """Run `command` under trace and say what it did, as `Jails.audit` does."""
        result, report = self._whole(Op.audit, command, policy, files, stdin)
        return result, auditing.parse(report)

    def open(
        self, command: Sequence[str], policy: Policy, *, files: Mapping[str, bytes] | None = None
    ) -> RemoteConversation:
        """Start `command` and talk to it, as `Jails.open` does; the bytes do not pass through the jailer."""
        line, answer, _ = self._ask_for(Op.open, command, policy, files, b"")
        if not isinstance(answer, Opened) or line.channel is None:
            line.close()
            raise gone("it sent no pipes")
        return RemoteConversation(line, line.channel)

    def session(
        self, policy: Policy, start: Mapping[str, bytes] | Snapshot | None = None, *, idle_s: float = IDLE_S
    ) -> RemoteSession:
        """A jail for many commands, as `Jails.session` gives; it ends with this process, or when it is closed."""
        check_idle(idle_s)
        tree = isinstance(start, Snapshot)
        if isinstance(start, Snapshot):
            packed, contents = turns.pack_tree(changes.checked(start.entries).values())
            index, parts = len(packed), [packed, *contents]
        else:
            index, parts = wire.pack(order(["true"], policy, start).files, b"")
        request = Request(Op.session, policy=policy, index=index, image=self._image, tree=tree, idle_s=idle_s)
        line, answer, _ = self._ask(request, parts)
        if not isinstance(answer, Opened):
            line.close()
            raise gone("it opened no session")
        session = RemoteSession(line, policy, self._patience_s)
        with self._lock:
            self._sessions.add(session)
        return session

    def status(self) -> State:
        """What the jailer is doing."""
        line = self._connect(CONNECT_PATIENCE_S)
        try:
            line.say(wire.encode_request(Request(Op.status)))
            answer, _ = line.hear()
        finally:
            line.close()
        if isinstance(answer, Refusal):
            answer.raised()
        if not isinstance(answer, State):
            raise gone("it answered with something else than its state")
        return answer

    @property
    def live(self) -> int:
        """Jails of this client that are running now, or about to."""
        return len(self._lines)

    def close(self) -> None:
        """End every jail of this client. What ran has ended as `infra`; what had ended keeps its result."""
        with self._lock:
            self._closings += 1
            sessions = list(self._sessions)
            for line in self._lines:
                line.cut()
        for session in sessions:
            session.close()

    def __enter__(self) -> RemoteJails:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _whole(
        self, op: Op, command: Sequence[str], policy: Policy, files: Mapping[str, bytes] | None, stdin: bytes
    ) -> tuple[JailResult, bytes]:
        """A single command's result, and an audit's report."""
        line, answer, body = self._ask_for(op, command, policy, files, stdin)
        line.close()
        return line.result_of(answer, body)

    def _ask_for(
        self, op: Op, command: Sequence[str], policy: Policy, files: Mapping[str, bytes] | None, stdin: bytes
    ) -> tuple[Line, Answer, bytes]:
        wanted = order(command, policy, files, stdin)
        index, parts = wire.pack(wanted.files, stdin)
        return self._ask(Request(op, wanted.command, policy, index, len(stdin), self._image), parts)

    def _ask(self, request: Request, parts: Sequence[bytes]) -> tuple[Line, Answer, bytes]:
        """Ask until the jailer is not too busy to answer."""
        message, patience, closings = wire.encode_request(request), Patience(self._patience_s), self._closings
        with sealed(parts) as fds:
            while True:
                line, answer, body = self._try(message, fds, request.policy.limits.wall_s + ANSWER_PATIENCE_S)
                if not isinstance(answer, Refusal):
                    return line, answer, body
                patience.wait(answer)
                if self._closings > closings:
                    raise SandboxError("the client was closed", remedy="open another")

    def _try(self, message: bytes, fds: Sequence[int], patience_s: float) -> tuple[Line, Answer, bytes]:
        """One connection: one question, one answer; the line is closed after a refusal."""
        line = self._connect(patience_s)
        try:
            line.say(message, fds)
            answer, body = line.hear()
        except BaseException:
            line.close()
            raise
        if isinstance(answer, Refusal):
            line.close()
        return line, answer, body

    def _connect(self, patience_s: float) -> Line:
        line = Line(self._path, patience_s, self._forget)
        with self._lock:
            self._lines.add(line)
        return line

    def _forget(self, line: Line) -> None:
        with self._lock:
            self._lines.discard(line)


class RemoteConversation(Talk):
    """A conversation whose jail the jailer supervises."""

    def __init__(self, line: Line, channel: Channel) -> None:
        super().__init__(channel)
        self._line = line
        self._said: JailResult | ApplianceError | None = None

    def stop(self) -> None:
        self._line.say_no_more()

    def _end(self) -> None:
        if not (self._at_end and self._line.is_heard(ENDING_PATIENCE_S)):
            self._line.say_no_more()
        try:
            self._said = self._line.result_of(*self._line.hear())[0]
        except ApplianceError as error:
            self._said = error
        self._line.close()

    def _ending(self) -> JailResult:
        if isinstance(self._said, ApplianceError):
            raise self._said
        assert self._said is not None
        return self._said
