"""One jail, from its order to its last process gone and its last trace removed.

A jail is used once. Whatever happens, its cgroup is killed whole before anything is said about it; the uid it had is
only given back when nothing runs under it.
"""

from __future__ import annotations

import os
import threading
import time
from signal import SIGKILL

from appliance.sandbox.cell import Cell
from appliance.sandbox.cgroups import Usage
from appliance.sandbox.ending import CLOSED, Facts, JailResult, JailStatus, Stop, decide
from appliance.sandbox.order import SEED_BYTES, Order, message
from appliance.sandbox.policy import Limits
from appliance.sandbox.watch import Clock, Ends, Report, Stream, Watch

RECORD_BYTES = 256
LOG_BYTES = 16 * 1024


class Jail:
    """A running jail. `supervise` it from one thread; `stop` from any."""

    def __init__(
        self, cell: Cell, wanted: Order, clock: Clock = time.monotonic, *, audited: bool = False
    ) -> None:
        self._cell, self._order, self._audited = cell, wanted, audited
        self._waking = threading.Lock()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._closed = False
        self._over = threading.Event()
        self.channel = cell.channel
        limits = wanted.policy.limits
        try:
            if cell.leaf and limits != cell.limits:
                cell.leaf.limit(limits)
            order = message(
                wanted,
                cell.host.image,
                conversing=cell.shape.conversing,
                enforced=cell.leaf is not None,
                random=os.urandom(SEED_BYTES),
            )
            cell.give(wanted.files, wanted.stdin, order)
        except BaseException:
            os.close(self._wake)
            cell.discard()
            raise
        self._ends = ends_of(cell, limits, self._wake)
        self._watch = Watch(self._ends, limits, cell.leaf, clock)

    @property
    def started(self) -> bool:
        """Whether the jail got as far as the command."""
        return self._watch.started is not None

    def stop(self) -> None:
        """Ask the supervising thread to end the jail."""
        with self._waking:
            if self._wake >= 0:
                os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """End the jail because its client is closed; `wait` for it."""
        self._closed = True
        self.stop()

    def wait(self, patience_s: float) -> bool:
        """Whether the supervising thread is done with the jail within that time."""
        return self._over.wait(patience_s)

    def supervise(self) -> JailResult:
        """Watch the jail to its end, kill what is left, and say what happened."""
        buried = self._cell.close
        try:
            stop = self._watch.run()
            wall_s, cpu_s = self._watch.elapsed_s(), self._watch.cpu_s()
            usage = self._cell.leaf.usage() if self._cell.leaf else None
            if stop is Stop.ended and self._cell.warm and self._watch.drain():
                # Nothing of the command is left, says its init, which now ends; nobody has to wait for that.
                self._cell.leaving = True
                buried = self._cell.bury_later
            else:
                self._put_down()
            facts = self._facts(stop, cpu_s, usage)
            return outcome(
                facts, self._order.policy.limits, wall_s, usage, self._ends, reduced=self._cell.reduced
            )
        finally:
            self._close_wake()
            try:
                buried()
            finally:
                self._over.set()

    def _put_down(self) -> None:
        """Kill everything and read what is left in the pipes; then nothing of the jail exists."""
        self._cell.kill()
        # An audit ends once all that it follows is dead, and has its last words to write then.
        dying = self._cell.leaf is not None or self._watch.report is not None
        settled = self._audited and dying and self._watch.settle()
        if not settled:
            self._watch.order(b"k")
            settled = self._watch.settle()
        self._cell.bury(settled=settled)

    def _close_wake(self) -> None:
        with self._waking:
            os.close(self._wake)
            self._wake = -1

    def _facts(self, stop: Stop, cpu_s: float, usage: Usage | None) -> Facts:
        report = self._watch.report or Report()
        trouble = self._trouble(stop)
        stop = Stop.broken if trouble else stop
        return facts_of(stop, report, cpu_s, usage, over=self._watch.over, trouble=trouble)

    def _trouble(self, stop: Stop) -> str:
        if not self._cell.empty and not self._cell.leaving:
            return "processes of the jail outlived their kill"
        if stop is Stop.caller and self._closed:
            return CLOSED
        if stop is not Stop.broken:
            return ""
        if self._watch.lost_launcher:
            return "the jail launcher died"
        said = bytes(self._ends.log.kept).decode(errors="replace").strip()
        return f"nsjail did not get as far as the command: {said or 'no word from it in time'}"


def ends_of(cell: Cell, limits: Limits, wake: int) -> Ends:
    """What there is to read of a cell from now on, each stream with its cap."""
    output = limits.output_kb * 1024
    return Ends(
        stdout=Stream(cell.stdout, output),
        stderr=Stream(cell.stderr, output),
        record=Stream(cell.control.fileno(), RECORD_BYTES),
        log=Stream(cell.log, LOG_BYTES),
        line=cell.line,
        wake=wake,
    )


def facts_of(
    stop: Stop, report: Report, cpu_s: float, usage: Usage | None, *, over: bool, trouble: str
) -> Facts:
    """What is known of a command's end, from its init and, where there is one, its cgroup."""
    return Facts(
        stop=stop,
        wait_status=report.wait_status,
        exec_errno=report.exec_errno,
        cpu_s=cpu_s if usage else report.cpu_s,
        oom_kills=usage.oom_kills if usage else 0,
        met_limit=usage is not None and usage.met_limit,
        pids_hits=usage.pids_hits if usage else 0,
        over=over,
        full=report.full,
        trouble=trouble,
    )


def outcome(
    facts: Facts, limits: Limits, wall_s: float, usage: Usage | None, ends: Ends, *, reduced: bool
) -> JailResult:
    """What is said about a command."""
    ending = decide(facts, limits)
    killed = int(SIGKILL) if ending.status is JailStatus.signal else None
    peak = usage.peak_bytes if usage else None
    return JailResult(
        status=ending.status,
        exit_code=facts.code,
        signal=facts.died_of or killed,
        cpu_s=facts.cpu_s,
        wall_s=wall_s,
        peak_mib=None if peak is None else peak / 2**20,
        stdout=bytes(ends.stdout.kept),
        stderr=bytes(ends.stderr.kept),
        limits="reduced" if reduced else "full",
        detail=ending.detail,
    )
