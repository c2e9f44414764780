"""What the jailer has only so much of: places for jails and sessions, and memory for requests in hand.

A refusal for lack of it is `Busy`: the client is told when to ask again. What could never be given is a UsageError.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from appliance.errors import SandboxError, UsageError


class Busy(SandboxError):
    """Not now: `retry_after_s` says when to ask again."""

    kind = "busy"
    retry_after_s = 0.25


def busy(why: str, option: str) -> Busy:
    return Busy(
        f"the jailer is busy: {why}", remedy=f"try again later, or start the jailer with a larger {option}"
    )


class Budget:
    """So many units of something; safe to use from many threads."""

    def __init__(self, most: int, why: str, option: str) -> None:
        """`why` is said when all is taken, `option` raises the bound."""
        self.most, self.taken = most, 0
        self._why, self._option = why, option
        self._lock = threading.Lock()

    @contextmanager
    def take(self, units: int = 1) -> Iterator[None]:
        """Have `units` for the time of the block; Busy when they are not there now."""
        with self._lock:
            if self.taken + units > self.most:
                raise busy(self._why, self._option)
            self.taken += units
        try:
            yield
        finally:
            with self._lock:
                self.taken -= units


class Memory(Budget):
    """Bytes that requests and their answers may hold in the jailer, all together."""

    def __init__(self, most: int) -> None:
        super().__init__(most, "its memory for requests is taken", "--memory-mb")

    @contextmanager
    def take(self, units: int = 1) -> Iterator[None]:
        if units > self.most:
            raise UsageError(
                f"a request for {-(-units >> 20)} MiB of the jailer's memory, which has {self.most >> 20} for all",
                remedy=f"ask for less output, input or files, or start it with a larger {self._option}",
            )
        with super().take(units):
            yield
