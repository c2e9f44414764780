"""A session in the jailer's hands: the interface of the direct one, each call a turn over its own connection."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType

from appliance.errors import ApplianceError, SandboxError, UsageError
from appliance.sandbox import turns
from appliance.sandbox.artefacts import Collection, CollectLimits
from appliance.sandbox.changes import Diff, Snapshot
from appliance.sandbox.ending import JailResult
from appliance.sandbox.line import ANSWER_PATIENCE_S, Line, Patience, gone, sealed
from appliance.sandbox.order import order
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.turns import Act, Turn
from appliance.sandbox.wire import Answer, Beside, Done, Health, Refusal

END_PATIENCE_S = 20.0
"""For the jailer to remove what was there."""


class RemoteSession:
    """Commands run one at a time; `stop` and `close` may come from another thread."""

    def __init__(self, line: Line, policy: Policy, patience_s: float) -> None:
        """`patience_s`: how long to ask a busy jailer again."""
        self._line, self._policy, self._patience_s = line, policy, patience_s
        self._turn = threading.Lock()
        self._open = True
        self._lost = ""
        """Why there is no way to the session any more."""

    def run(self, command: Sequence[str], *, limits: Limits | None = None, stdin: bytes = b"") -> JailResult:
        """Run one command to its end. `limits` are this command's; disk room and processors are the session's."""
        wanted = order(command, replace(self._policy, limits=limits or self._policy.limits), None, stdin)
        turn = Turn(Act.do, wanted.command, wanted.policy.limits, len(stdin))
        answer, body = self._take(turn, stdin, wanted.policy.limits.wall_s)
        return self._line.result_of(answer, body)[0]

    def stop(self) -> None:
        """End the command that runs, if one does."""
        # To a jailer that is gone there is nothing to say, and to a closed session neither.
        if self._open:
            with contextlib.suppress(SandboxError):
                self._line.say(turns.encode(Turn(Act.stop)))

    def healthy(self) -> bool:
        """Whether the session's init answers."""
        return self._open and self._health(Act.healthy).healthy

    @property
    def broken(self) -> str:
        """Why no command can be run any more; empty while one can."""
        return self._health(Act.broken).broken if self._open else ""

    def diff(self) -> Diff:
        """What is different below /work since the session began, or was reset; what cannot be read is refused."""
        return turns.unpack_diff(self._fetch(Turn(Act.diff))[0])

    def snapshot(self) -> Snapshot:
        """The state of /work now; another session can begin from it. What cannot be kept is refused by name."""
        return turns.unpack_snapshot(*self._fetch(Turn(Act.snapshot)))

    def artefacts(self, limits: CollectLimits | None = None) -> Collection:
        """The regular files that commands wrote below /work, each refused one with its reason."""
        turn = Turn(Act.artefacts, collect=limits or CollectLimits())
        return turns.unpack_collection(*self._fetch(turn, turn.collect.seconds))

    def reset(self) -> None:
        """Back to the beginning, in a new jail: no file, process or shared memory is left."""
        answer, _ = self._take(Turn(Act.reset))
        if not isinstance(answer, Done):
            raise gone("it answered with something else than that it is done")

    def close(self) -> None:
        """End the session; a command that runs is stopped."""
        self._open = False
        self._line.say_no_more()
        with self._turn:
            if not self._lost:
                self._lost = "it is closed"
                self._see_out()

    def __enter__(self) -> RemoteSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _see_out(self) -> None:
        """Wait for the end of the connection, which comes when nothing of the session is left."""
        self._line.patience_s = END_PATIENCE_S
        with contextlib.suppress(ApplianceError):
            while True:
                self._line.hear()
        self._line.close()

    def _health(self, act: Act) -> Health:
        try:
            answer, _ = self._take(Turn(act))
        except (SandboxError, UsageError) as error:
            return Health(False, error.message)
        return answer if isinstance(answer, Health) else Health(False, "its jailer does not say")

    def _fetch(self, turn: Turn, seconds: float = 0.0) -> tuple[bytes, bytes]:
        """An index and the contents that it speaks of."""
        answer, body = self._take(turn, seconds=seconds)
        if not isinstance(answer, Beside) or len(body) != answer.size:
            raise gone("it answered with something else than was asked for")
        return body[: answer.index], body[answer.index :]

    def _take(self, turn: Turn, beside: bytes = b"", seconds: float = 0.0) -> tuple[Answer, bytes]:
        """One turn, as soon as the jailer has room for it; a refusal is raised."""
        message, patience = turns.encode(turn), Patience(self._patience_s)
        with self._turn, sealed([beside]) as fds:
            while True:
                self._check()
                answer, body = self._said(message, fds, seconds + ANSWER_PATIENCE_S)
                if not isinstance(answer, Refusal):
                    return answer, body
                patience.wait(answer)

    def _said(self, message: bytes, fds: Sequence[int], patience_s: float) -> tuple[Answer, bytes]:
        self._line.patience_s = patience_s
        try:
            self._line.say(message, fds)
            return self._line.hear()
        except SandboxError as error:
            # What is said after this might be heard as the answer to something else.
            self._lost = error.message
            self._line.close()
            raise

    def _check(self) -> None:
        if not self._open:
            raise UsageError("the session is closed")
        if self._lost:
            raise SandboxError(f"the session is broken: {self._lost}", remedy="begin another")
