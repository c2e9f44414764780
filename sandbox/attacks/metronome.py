"""A sibling jail that beats time while others attack: how long it was kept from its beat is a figure, not a verdict."""

from __future__ import annotations

import threading
import time
from types import TracebackType

from appliance.errors import SandboxError
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.probes import Runs

BEAT_S = 0.02
_PATIENCE_S = 5.0
_SOURCE = f"""
import os, time
write = int(os.environ["APPLIANCE_CHANNEL"].split(",")[1])
while True:
    os.write(write, b"%.6f\\n" % time.monotonic())
    time.sleep({BEAT_S})
"""


class Metronome:
    """Beats from construction to `close`. The times are the jail's own, so that our reading late does not count."""

    def __init__(self, jails: Runs) -> None:
        policy = Policy(Limits(memory_mb=64, pids=4, cpu_s=3600, wall_s=7200))
        command = ("python3", "-I", "-S", "/job/beat.py")
        self._talk = jails.open(command, policy, files={"beat.py": _SOURCE.encode()})
        self._lock = threading.Lock()
        self._last = 0.0
        self._worst = 0.0
        self._started = threading.Event()
        self.beats = 0
        self.alive = True
        """It was not harmed: its jail still runs, or we ended it."""
        self._closing = False
        self._thread = threading.Thread(target=self._listen, name="metronome", daemon=True)
        self._thread.start()
        self._started.wait(_PATIENCE_S)

    def take_worst_s(self) -> float:
        """The longest time between two beats since the last call, the running one included."""
        with self._lock:
            worst, self._worst = max(self._worst, time.monotonic() - self._last), 0.0
            return worst

    def close(self) -> None:
        self._closing = True
        self._thread.join()
        try:
            self._talk.finish()
        except SandboxError:
            # Its client was closed under it.
            self.alive = False

    def __enter__(self) -> Metronome:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _listen(self) -> None:
        rest = b""
        while not self._closing:
            try:
                body = self._talk.receive(4096, BEAT_S * 5)
            except TimeoutError:
                continue
            except OSError:
                return
            if body is None:
                self.alive = self._closing
                return
            *lines, rest = (rest + body).split(b"\n")
            self._note([float(line) for line in lines])

    def _note(self, times: list[float]) -> None:
        with self._lock:
            for moment in times:
                if self._last:
                    self._worst = max(self._worst, moment - self._last)
                self._last = moment
                self.beats += 1
        self._started.set()
