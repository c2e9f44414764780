"""Holds the jails of one job, so that they can be ended from outside and their times told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from appliance.errors import SandboxError
from appliance.examination import Opener, Seat
from appliance.sandbox.client import Collection, CollectLimits, JailResult, Peer, Snapshot
from appliance.sandbox.policy import Limits, Policy


class Stoppable(Protocol):
    """What a leash holds: something with a jail that `stop` ends, or nothing any more."""

    def stop(self) -> None: ...


class Leash:
    """Opens the jails of `around`; `cut` may come from any thread, at any time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._jails: Opener | None = None
        self._lock = threading.Lock()
        self._live: set[Stoppable] = set()
        self._cut = False
        self.start_s = self.teardown_s = 0.0
        """What opening jails took so far, and ending them."""

    def around(self, jails: Opener) -> Leash:
        self._jails = jails
        return self

    def open(
        self, command: Sequence[str], policy: Policy, *, files: Mapping[str, bytes] | None = None
    ) -> Held:
        assert self._jails is not None
        begun = self._clock()
        held = Held(self._jails.open(command, policy, files=files), self)
        self.start_s += self._clock() - begun
        self._hold(held)
        return held

    def run(
        self,
        command: Sequence[str],
        policy: Policy,
        *,
        files: Mapping[str, bytes] | None = None,
        stdin: bytes = b"",
    ) -> JailResult:
        """Run one command to its end, which its own limit of time bounds; SandboxError after the cut."""
        return self._uncut().run(command, policy, files=files, stdin=stdin)

    def session(self, policy: Policy, start: Mapping[str, bytes] | Snapshot | None = None) -> Seat:
        """A session in which the cut ends the command that runs; SandboxError after it."""
        jails = self._uncut()
        begun = self._clock()
        seat = Sitting(jails.session(policy, start), self)
        self.start_s += self._clock() - begun
        self._hold(seat)
        return seat

    def _uncut(self) -> Opener:
        assert self._jails is not None
        if self._cut:
            raise SandboxError("the job of this jail is not wanted any more", remedy="submit it again")
        return self._jails

    def _hold(self, held: Stoppable) -> None:
        with self._lock:
            self._live.add(held)
            late = self._cut
        if late:
            held.stop()

    def cut(self) -> None:
        """End every jail that is open, and each that is opened later."""
        with self._lock:
            self._cut, live = True, list(self._live)
        for held in live:
            held.stop()

    @property
    def is_cut(self) -> bool:
        return self._cut

    def ended(self, held: Stoppable, begun: float) -> None:
        self.teardown_s += self._clock() - begun
        with self._lock:
            self._live.discard(held)

    def now(self) -> float:
        return self._clock()


class Held:
    """A conversation on a leash."""

    def __init__(self, talk: Peer, leash: Leash) -> None:
        self._talk, self._leash = talk, leash

    def send(self, body: bytes) -> None:
        self._talk.send(body)

    def receive(self, max_bytes: int, timeout_s: float) -> bytes | None:
        return self._talk.receive(max_bytes, timeout_s)

    def stop(self) -> None:
        self._talk.stop()

    def finish(self) -> JailResult:
        begun = self._leash.now()
        try:
            return self._talk.finish()
        finally:
            self._leash.ended(self, begun)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        begun = self._leash.now()
        self._talk.__exit__(kind, error, trace)
        self._leash.ended(self, begun)


class Sitting:
    """A session on a leash."""

    def __init__(self, seat: Seat, leash: Leash) -> None:
        self._seat, self._leash = seat, leash

    @property
    def broken(self) -> str:
        return self._seat.broken

    def run(self, command: Sequence[str], *, limits: Limits | None = None, stdin: bytes = b"") -> JailResult:
        if self._leash.is_cut:
            raise SandboxError("the job of this jail is not wanted any more", remedy="submit it again")
        return self._seat.run(command, limits=limits, stdin=stdin)

    def snapshot(self) -> Snapshot:
        return self._seat.snapshot()

    def artefacts(self, limits: CollectLimits | None = None) -> Collection:
        return self._seat.artefacts(limits)

    def stop(self) -> None:
        self._seat.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        begun = self._leash.now()
        self._seat.__exit__(kind, error, trace)
        self._leash.ended(self, begun)
