"""Holds the jails of one job, so that they can be ended from outside and their times told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from appliance.examination import Opener
from appliance.sandbox.client import JailResult, Peer
from appliance.sandbox.policy import Policy


class Leash:
    """Opens conversations in the jails of `around`; `cut` may come from any thread, at any time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._jails: Opener | None = None
        self._lock = threading.Lock()
        self._live: set[Held] = set()
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
        with self._lock:
            self._live.add(held)
            late = self._cut
        if late:
            held.stop()
        return held

    def cut(self) -> None:
        """End every jail that is open, and each that is opened later."""
        with self._lock:
            self._cut, live = True, list(self._live)
        for held in live:
            held.stop()

    @property
    def is_cut(self) -> bool:
        return self._cut

    def ended(self, held: Held, begun: float) -> None:
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
