"""A jail that lives for the turns of one attempt: many commands, one /work, and what became of it.

/work is an overlay: what the session began with is read-only below, what it changed lies above on a file system with
the policy's room. Each command has limits of its own and ends with everything it started. A session whose jail is
lost, by its own doing or the host's, is broken and says so; a reset gives it a new jail.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import TracebackType

from appliance.errors import SandboxError, UsageError
from appliance.sandbox import changes
from appliance.sandbox.artefacts import Collection, CollectLimits, collect
from appliance.sandbox.cell import Cell
from appliance.sandbox.cgroups import Usage
from appliance.sandbox.changes import Diff, Reading, Snapshot
from appliance.sandbox.ending import CLOSED, Facts, JailResult, Stop
from appliance.sandbox.jail import ends_of, facts_of, outcome
from appliance.sandbox.order import SEED_BYTES, Order, message, order
from appliance.sandbox.policy import Limits, Policy
from appliance.sandbox.watch import Clock, Report, Watch

IDLE_S = 600.0
ANSWER_PATIENCE_S = 5.0
LONGEST_IDLE_S = 7 * 86_400.0
UNANSWERED = "its init does not answer"
GONE = "its jail is gone: killed, or idle for longer than it may"

Build = Callable[[changes.Tree], Cell]


class Session:
    """Commands run one at a time; `stop` and `close` may come from another thread."""

    def __init__(
        self,
        build: Build,
        policy: Policy,
        start: Mapping[str, bytes] | Snapshot | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._build, self._policy, self._clock = build, policy, clock
        if isinstance(start, Snapshot):
            self._base: changes.Tree = changes.checked(start.entries)
        else:
            # The same checks as for any jail's files.
            self._base = changes.tree_of(order(["true"], policy, start).files)
        self._turn = threading.Lock()
        self._waking = threading.Lock()
        self._running = 0
        """Commands that run, or are about to."""
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.broken = ""
        """Why no command can be run any more; empty while one can."""
        self._open = True
        self._client_closed = False
        try:
            self._cell = build(self._base)
        except BaseException:
            os.close(self._wake)
            raise

    def run(self, command: Sequence[str], *, limits: Limits | None = None, stdin: bytes = b"") -> JailResult:
        """Run one command to its end. `limits` are this command's; disk room and processors are the session's."""
        policy = replace(self._policy, limits=self._fitting(limits or self._policy.limits))
        wanted = order(command, policy, None, stdin)
        with self.running(), self._turn:
            self._check()
            return self._carry_out(wanted)

    @contextmanager
    def running(self) -> Iterator[None]:
        """From its beginning to its end `stop` ends the command that is run in it, even before it has begun."""
        with self._waking:
            self._running += 1
        try:
            yield
        finally:
            with self._waking:
                self._running -= 1
                if not self._running and self._wake >= 0:
                    # What came too late for this command is not meant for the next.
                    with suppress(BlockingIOError):
                        os.eventfd_read(self._wake)

    def stop(self) -> None:
        """End the command that runs, if one does."""
        with self._waking:
            if self._running and self._wake >= 0:
                os.eventfd_write(self._wake, 1)

    def healthy(self) -> bool:
        """Whether the session's init answers."""
        with self._turn:
            if self.broken or not self._open:
                return False
            try:
                return self._ask(b"P")[0] == b"P\n"
            except SandboxError:
                return False

    def pids(self) -> list[int]:
        """The host's numbers of its processes, as far as a cgroup knows them."""
        return self._cell.leaf.pids() if self._cell.leaf else []

    def diff(self) -> Diff:
        """What is different below /work since the session began, or was reset; what cannot be read is refused."""
        with self._turn:
            now, read = self._now()
        return Diff(tuple(changes.differences(self._base, now)), read.refused, read.truncated)

    def snapshot(self) -> Snapshot:
        """The state of /work now; another session can begin from it. What cannot be kept is refused by name."""
        with self._turn:
            now, read = self._now()
        return changes.keep(now, read.truncated)

    def artefacts(self, limits: CollectLimits | None = None) -> Collection:
        """The regular files that commands wrote below /work, each refused one with its reason."""
        with self._turn, self._changes() as upper:
            return collect(upper, limits or CollectLimits(), self._clock)

    def reset(self) -> None:
        """Back to the beginning, in a new jail: no file, process or shared memory is left."""
        with self._turn:
            if not self._open:
                raise UsageError("the session is closed")
            self._cell.discard()
            self._cell = self._build(self._base)
            self.broken = ""

    def close(self) -> None:
        """End the session; a command that runs is stopped."""
        self._open = False
        self.stop()
        with self._turn:
            with self._waking:
                wake, self._wake = self._wake, -1
            if wake >= 0:
                os.close(wake)
                self._cell.discard()

    def end(self) -> None:
        """The same because its client is closed: that is not held against a command that runs."""
        self._client_closed = True
        self.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fitting(self, limits: Limits) -> Limits:
        own = self._policy.limits
        return replace(limits, disk_mb=own.disk_mb, inodes=own.inodes, cpus=own.cpus, cpuset=own.cpuset)

    def _check(self) -> None:
        if not self._open:
            raise UsageError("the session is closed")
        if self.broken:
            raise SandboxError(f"the session is broken: {self.broken}", remedy="reset it, or begin another")

    def _carry_out(self, wanted: Order) -> JailResult:
        cell, limits = self._cell, wanted.policy.limits
        before = self._prepare(limits)
        ends = ends_of(cell, limits, self._wake)
        watch = Watch(ends, limits, cell.leaf, self._clock)
        text = message(
            wanted,
            cell.host.image,
            conversing=False,
            enforced=cell.leaf is not None,
            random=os.urandom(SEED_BYTES),
        )
        cell.give_again(wanted.stdin, text)
        stop = watch.run()
        wall_s, cpu_s = watch.elapsed_s(), watch.cpu_s()
        if stop is not Stop.ended:
            self._tell(b"K")
        if not watch.conclude():
            self.broken = GONE if watch.gone else UNANSWERED
        usage = _since(before, cell.leaf.usage()) if cell.leaf else None
        return outcome(
            self._facts(watch, stop, cpu_s, usage), limits, wall_s, usage, ends, reduced=cell.reduced
        )

    def _prepare(self, limits: Limits) -> Usage | None:
        leaf = self._cell.leaf
        if leaf is None:
            return None
        leaf.limit(limits)
        leaf.reset_peak()
        return leaf.usage()

    def _facts(self, watch: Watch, stop: Stop, cpu_s: float, usage: Usage | None) -> Facts:
        # What a command stopped at a limit was killed with is our doing.
        report = (watch.report or Report()) if stop is Stop.ended else Report()
        lost = bool(self.broken) and stop in (Stop.broken, Stop.lost) and watch.lost_launcher
        trouble = f"the session ended: {self.broken}" if self.broken else ""
        if stop is Stop.caller and self._client_closed:
            stop, trouble = Stop.broken, CLOSED
        stop = Stop.broken if lost else stop
        return facts_of(stop, report, cpu_s, usage, over=watch.over, trouble=trouble)

    def _now(self) -> tuple[changes.Tree, Reading]:
        """The tree as it is, and what was read for it from the overlay's upper folder."""
        with self._changes() as upper:
            room = min(self._policy.limits.disk_mb << 20, changes.MAX_TREE_BYTES)
            try:
                read = changes.read(upper, room)
            except OSError as error:
                raise SandboxError(f"cannot read a session's changes: {error}", remedy="reset it") from error
        return changes.apply(self._base, read.entries), read

    @contextmanager
    def _changes(self) -> Iterator[int]:
        """The open upper folder of the overlay."""
        self._check()
        _, upper = self._ask(b"U")
        if upper < 0:
            raise SandboxError("the session did not hand out its changes", remedy="reset it")
        try:
            yield upper
        finally:
            os.close(upper)

    def _ask(self, question: bytes) -> tuple[bytes, int]:
        """The init's answer, with a descriptor or -1; what it said before is passed over."""
        control = self._cell.control
        self._tell(question)
        control.settimeout(ANSWER_PATIENCE_S)
        try:
            while True:
                word, fds, _, _ = socket.recv_fds(control, 256, 1, socket.MSG_CMSG_CLOEXEC)
                if word in (b"", question + b"\n"):
                    break
        except OSError:
            word, fds = b"", []
        finally:
            control.settimeout(None)
        if not word:
            self.broken = UNANSWERED if self._cell.alive() else GONE
            raise SandboxError(f"the session is broken: {self.broken}", remedy="reset it, or begin another")
        return word, fds[0] if fds else -1

    def _tell(self, word: bytes) -> None:
        try:
            self._cell.control.send(word)
        except OSError:
            # Gone: whoever waits for the answer finds that out.
            return


def check_idle(idle_s: float) -> None:
    """UsageError for a time that no session can wait."""
    # A NaN fails both comparisons.
    if not 0 < idle_s <= LONGEST_IDLE_S:
        raise UsageError(f"idle_s = {idle_s!r} is not between 0 and {LONGEST_IDLE_S:g} seconds")


def _since(before: Usage | None, now: Usage) -> Usage:
    """What one command used of what a leaf has counted."""
    assert before is not None
    return replace(
        now,
        cpu_s=now.cpu_s - before.cpu_s,
        oom_kills=now.oom_kills - before.oom_kills,
        pids_hits=now.pids_hits - before.pids_hits,
    )
