"""The watchdog: says that the daemon is well only when that was just seen, never because a thread still runs.

Three things are asked before each word to the service manager: a tiny write to the store succeeds, the queue's keeper
has beaten lately, the control loop answers. The one thread that asks is the one that speaks, so a question that hangs
(a disk that does not answer) silences it, and the manager ends and restarts the service. One bad answer is told and
not yet fatal: there are two turns in each limit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from appliance.daemon.notify import Notifier
from appliance.errors import ApplianceError

STALE_BEAT_S = 30.0
"""A keeper beats every few seconds; its leases are void after about this long."""
ANSWER_S = 5.0


@dataclass(frozen=True, slots=True)
class Vitals:
    """What shows that the daemon makes progress.

    `write` writes to the store and raises OSError or an ApplianceError when that fails. `beat_age` is the number of
    seconds since the keeper of the queue last beat. `answers(seconds)` is whether the control loop answered a ping
    within that time.
    """

    write: Callable[[], object]
    beat_age: Callable[[], float]
    answers: Callable[[float], bool]

    def ailment(self) -> str:
        """What is wrong, in words; empty when all is well."""
        try:
            self.write()
        except (OSError, ApplianceError) as error:
            return f"the store cannot be written: {error}"
        if (age := self.beat_age()) > STALE_BEAT_S:
            return f"the keeper of the queue has not beaten for {age:.0f} s"
        if not self.answers(ANSWER_S):
            return f"the control loop did not answer within {ANSWER_S:.0f} s"
        return ""


class Watchdog:
    """Asks `vitals` twice within each `limit_s` and speaks when all is well. A context manager.

    `say` gets a line when something starts to be wrong, and when it is well again. Any other exception of a vital is a
    bug: it ends the thread, and so the word.
    """

    def __init__(
        self, notifier: Notifier, limit_s: float, vitals: Vitals, say: Callable[[str], object]
    ) -> None:
        self._notifier, self._vitals, self._say = notifier, vitals, say
        self._pause_s = limit_s / 2
        self._ailment = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def __enter__(self) -> Watchdog:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop asking. A question that hangs is not waited for."""
        self._stop.set()
        self._thread.join(ANSWER_S)

    def turn(self) -> bool:
        """Ask once; speak and return True when all is well."""
        ailment = self._vitals.ailment()
        if not ailment:
            self._notifier.alive()
        if bool(ailment) != bool(self._ailment):
            self._say(f"watchdog: {ailment}" if ailment else "watchdog: well again")
        self._ailment = ailment
        return not ailment

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            # By the clock and not by the pause: a slow answer must not make the next word late.
            due = max(due + self._pause_s, time.monotonic())
            self.turn()
