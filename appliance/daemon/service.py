"""The daemon: carries out the runs of its line one after the other, and does what it is asked to meanwhile.

Runs are carried out in the main thread, where signals arrive; orders come from the threads of the control socket
and only leave a wish here. A SIGTERM or an interrupt drains: the run that is going stops at its next safe point and
goes back to its place, to go on when a daemon starts again. The second one does not wait for the safe point.
"""

from __future__ import annotations

import shutil
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

from appliance.daemon import embedded
from appliance.daemon.book import Book
from appliance.daemon.manager import Beats
from appliance.errors import ApplianceError, StoreError
from appliance.journal import Listener
from appliance.paths import Paths
from appliance.report import write_report

IDLE_S = 0.5
HELD_S = 0.2
RETRY_S = 2.0
"""Between tries to write down what became of a run, on a disk that takes nothing."""
LEAST_FREE_BYTES = 64 << 20
"""A run is not started on a fuller disk: it would only fail there."""
GOING = ("running", "paused")
"""States of a run that has been begun and has not ended."""
HURRY = signal.SIGUSR1


@dataclass
class Hold:
    """What is wanted of one run that is going. Plain flags: they are set from threads and signal handlers."""

    run_id: str
    paused: bool = False
    """The operator wants it to pause."""
    held: bool = False
    """It does pause."""
    stopping: bool = False
    """The operator wants it to stop."""
    hurry: bool = False
    """Whoever wants it to stop does not want to wait."""

    def ending(self) -> str:
        """The state of the run if it stops now."""
        return "stopped" if self.stopping else "paused" if self.paused else "queued"


class Service:
    """The daemon's main loop over a book of runs, in the thread that calls `serve`.

    `listeners` hear every event and live row of a run (kind, data), `daemon.ready`, `daemon.draining` and, while
    nothing is going, `daemon.idle`: what watches over progress listens there.
    """

    def __init__(self, book: Book, listeners: tuple[Listener, ...]) -> None:
        self.book, self._listeners = book, listeners
        self.hold: Hold | None = None
        self.draining = False
        self.beats = Beats()
        self.trouble = ""
        """Why nothing is started although runs wait, empty when all is well."""
        self._news = threading.Event()
        self._main = threading.get_ident()
        self._interruptible = False

    def serve(self) -> None:
        """Carry out runs until told to drain. Call it in the main thread, inside `obeying`."""
        self.tell("daemon.ready")
        while not self.draining:
            if hold := self._next():
                self._carry_out(hold)
            else:
                self.tell("daemon.idle")
                self._news.wait(IDLE_S)
                self._news.clear()
        self.tell("daemon.draining")

    def _next(self) -> Hold | None:
        """Take the first run of the line, if there is room to work."""
        with self.book.lock:
            waiting = self.book.waiting()
            self._complain(_lack(self.book.paths) if waiting else "")
            if waiting and not self.trouble:
                self.hold = Hold(waiting[0])
                return self.hold
        return None

    def _complain(self, trouble: str) -> None:
        """Note what keeps runs from being started, and tell it once."""
        if trouble != self.trouble:
            self.trouble = trouble
            self.tell("daemon.trouble", why=trouble or "over")

    @contextmanager
    def obeying(self) -> Iterator[None]:
        """Let signals drain us while the block lasts."""
        handlers = {signal.SIGTERM: self._drain, signal.SIGINT: self._drain, HURRY: self._interrupt}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def tell(self, kind: str, **data: object) -> None:
        for listen in self._listeners:
            with suppress(OSError):
                listen(kind, data)

    # orders, from any thread

    def news(self) -> None:
        """The line has changed."""
        self._news.set()

    def going(self, run_id: str, state: str) -> Hold | None:
        """The hold on a run that is going; one on record as ended (`state`) is only being cleared away."""
        hold = self.hold
        return hold if hold and hold.run_id == run_id and state in GOING else None

    def stop(self, hold: Hold, now: bool) -> None:
        hold.stopping = True
        if now:
            hold.hurry = True
            signal.pthread_kill(self._main, HURRY)

    # signals: they only leave a wish, since the main thread may hold any lock

    def _drain(self, number: int, frame: FrameType | None) -> None:
        again, self.draining = self.draining, True
        if again and (hold := self.hold):
            hold.hurry = True
            self._interrupt(number, frame)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Break off the run that is going, once."""
        if self.hold and self.hold.hurry and self._interruptible:
            self._interruptible = False
            raise KeyboardInterrupt

    # one run

    def _carry_out(self, hold: Hold) -> None:
        try:
            self.book.begin(hold.run_id, "daemon")
            self._work(hold)
        except KeyboardInterrupt:
            self._close(hold, hold.ending())
        except StoreError as error:
            self._complain(error.message)
            self._close(hold, "queued", in_vain=True, error=error.message)
        except ApplianceError as error:
            self._close(hold, "failed", error=str(error), error_kind=error.kind)
        except Exception as error:  # noqa: BLE001
            # The supervisor's loop: a fault of ours in one run ends that run, with its traceback in the log.
            traceback.print_exc()
            self._close(hold, "failed", error=type(error).__name__, error_kind="internal")
        finally:
            self.hold = None

    def _work(self, hold: Hold) -> None:
        """The run itself, inside which a quick stop interrupts."""
        try:
            self._interruptible = True
            if hold.hurry:
                raise KeyboardInterrupt
            book = self.book
            reins = embedded.Reins("daemon", self._stop_asked(hold), hold.ending, self.beats)
            outcome = embedded.carry_out(book.wish_to_resume(hold.run_id), book, reins)
            self.hold = None
            write_report(book.paths.store, outcome.run_id, outcome.folder)
        finally:
            self._interruptible = False

    def _stop_asked(self, hold: Hold) -> Callable[[], bool]:
        def asked() -> bool:
            while hold.paused and not (hold.stopping or self.draining):
                self._note_pause(hold, True)
                time.sleep(HELD_S)
                self.tell("daemon.idle", paused=hold.run_id)
            if not hold.paused:
                self._note_pause(hold, False)
            return hold.stopping or self.draining

        return asked

    def _note_pause(self, hold: Hold, held: bool) -> None:
        if hold.held == held:
            return
        hold.held = held
        self.book.store.set_run(hold.run_id, state="paused" if held else "running")
        self.book.tell(hold.run_id, "run.paused" if held else "run.continued")

    def _close(self, hold: Hold, state: str, *, in_vain: bool = False, **data: str) -> None:
        """Write down how a run ended, unless that was done where it happened, as soon as the disk takes it.

        When it takes nothing until we end, the run stays on record as running, and the next daemon puts it back.
        """
        while True:
            try:
                if self.book.store.run(hold.run_id)["state"] in GOING:
                    self.book.change(hold.run_id, state, in_vain=in_vain, **data)
                return
            except StoreError as error:
                self._complain(error.message)
            if self.draining:
                return
            self.tell("daemon.idle")
            time.sleep(RETRY_S)


def _lack(paths: Paths) -> str:
    """What a run would lack on this disk, empty when nothing."""
    free = shutil.disk_usage(paths.data).free
    if free >= LEAST_FREE_BYTES:
        return ""
    return f"{paths.data}: {free >> 20} MiB free, {LEAST_FREE_BYTES >> 20} needed to start a run; free disk space"
