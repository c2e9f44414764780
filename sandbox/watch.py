"""Watching one jail from outside: every pipe drained at once, bounded, and the clock of its limits.

Nothing the command prints is interpreted. The only word that counts is the init's report on its own descriptor; when
it is missing, what the launcher says about nsjail counts. Reading never blocks and never keeps more than a stream's
cap, so a flood costs the host neither time nor memory.
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from appliance.sandbox.cgroups import Leaf
from appliance.sandbox.ending import Stop
from appliance.sandbox.policy import Limits

CHUNK = 64 * 1024
TICK_S = 0.1
LAUNCH_PATIENCE_S = 30.0
SETTLE_PATIENCE_S = 5.0
SHORTEST_WAIT_S = 0.002
STARTED = b"S\n"

Clock = Callable[[], float]


class Stream:
    """One pipe: keeps the first `cap` bytes and knows whether there were more."""

    def __init__(self, fd: int, cap: int) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self.kept = bytearray()
        self.over = False
        self.open = True
        self._cap = cap

    def pull(self) -> None:
        """Take one chunk, if there is one."""
        try:
            part = os.read(self.fd, CHUNK)
        except BlockingIOError:
            return
        except ConnectionResetError:
            # A socket whose other end went with words of ours unread.
            part = b""
        room = self._cap - len(self.kept)
        self.kept += part[:room]
        self.over |= len(part) > room
        self.open = bool(part)


@dataclass(frozen=True, slots=True)
class Report:
    """The init's last line: the command's wait status, or why it was never executed."""

    wait_status: int | None = None
    exec_errno: int | None = None
    cpu_s: float | None = None
    full: bool = False


def parse_report(record: bytes) -> Report | None:
    """The report in what the init has written so far, None while there is none."""
    for line in record.split(b"\n")[:-1]:
        match line.split():
            case [b"X", status, ticks, full]:
                return Report(int(status), None, int(ticks) / 100, full == b"1")
            case [b"E", number]:
                return Report(exec_errno=int(number), cpu_s=0.0)
    return None


@dataclass(frozen=True, slots=True)
class Ends:
    """Our ends of what a jail writes to, and the line to its nsjail."""

    stdout: Stream
    stderr: Stream
    record: Stream
    log: Stream
    line: socket.socket
    wake: int
    """An eventfd: set when the caller wants an end."""

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stdout, self.stderr, self.record, self.log)


def is_readable(fd: int) -> bool:
    """Whether a read would not block; select(2) cannot be asked about descriptors from 1024 on."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def _last_word(line: socket.socket) -> bytes:
    """What the launcher said of nsjail's end; nothing when it died itself."""
    while True:
        try:
            return line.recv(64)
        except ConnectionResetError:
            # It closed the line on an order of ours; its word comes behind the error.
            continue


def ending_of(word: bytes) -> str:
    """The wait status that the launcher reports, in words; empty when it reports none."""
    if not word.isdigit():
        return ""
    code = os.waitstatus_to_exitcode(int(word))
    return f"it was killed by signal {-code}" if code < 0 else f"it ended with exit code {code}"


class Watch:
    """The supervision of one jail; used by one thread."""

    def __init__(self, ends: Ends, limits: Limits, leaf: Leaf | None, clock: Clock) -> None:
        self._ends, self._limits, self._leaf, self._clock = ends, limits, leaf, clock
        self._poll = select.poll()
        self._streams = {stream.fd: stream for stream in ends.streams}
        for fd in (*self._streams, ends.line.fileno(), ends.wake):
            self._poll.register(fd, select.POLLIN)
        self._created = clock()
        self._base_cpu_s = 0.0
        self._cpu_due = 0.0
        self._woken = False
        self.started: float | None = None
        self.gone = False
        """nsjail has ended."""
        self.lost_launcher = False
        self.how_it_ended = ""
        """Of nsjail or a zygote's child, in words; empty while it has not."""

    @property
    def report(self) -> Report | None:
        return parse_report(bytes(self._ends.record.kept))

    @property
    def over(self) -> bool:
        return self._ends.stdout.over or self._ends.stderr.over

    def run(self) -> Stop:
        """Watch until there is a reason to stop."""
        while True:
            if stop := self._reason():
                return stop
            events = self._poll.poll(self._timeout_s() * 1000)
            for fd, _ in events:
                self._attend(fd)
            if not events and self.started is not None:
                self.order(b"a")

    def order(self, word: bytes) -> None:
        """Tell the launcher to wake (`a`) or kill (`k`) this jail's nsjail."""
        try:
            self._ends.line.send(word, socket.MSG_DONTWAIT)
        except OSError:
            # Full of earlier orders, or nsjail is gone: both make this one pointless.
            return

    def drain(self) -> bool:
        """After the init's report, which comes when all else is dead: read what is left; False when it has no end."""
        deadline = time.monotonic() + SETTLE_PATIENCE_S
        while self._ends.stdout.open or self._ends.stderr.open:
            left = deadline - time.monotonic()
            if left <= 0 or self.gone:
                return False
            for fd, _ in self._poll.poll(left * 1000):
                self._attend(fd)
        return True

    def conclude(self) -> bool:
        """Of one command among many: wait for the report, take what is in the pipes; False when there is none."""
        deadline = time.monotonic() + SETTLE_PATIENCE_S
        while not self.report:
            left = deadline - time.monotonic()
            if left <= 0 or self.gone or not self._ends.record.open:
                return False
            for fd, _ in self._poll.poll(left * 1000):
                self._attend(fd)
        # All writers are dead: what is there now is all there is.
        while events := self._poll.poll(0):
            waiting = {fd for fd, _ in events} & {self._ends.stdout.fd, self._ends.stderr.fd}
            for fd in waiting:
                self._attend(fd)
            if not waiting:
                break
        return True

    def settle(self) -> bool:
        """After the kill: read on until every pipe has ended; False when something still holds one."""
        deadline = time.monotonic() + SETTLE_PATIENCE_S
        while not self.gone or any(stream.open for stream in self._streams.values()):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for fd, _ in self._poll.poll(left * 1000):
                self._attend(fd)
        return True

    def cpu_s(self) -> float:
        """CPU time of the command's tree so far, as far as a cgroup counts it."""
        return max(0.0, self._leaf.cpu_s() - self._base_cpu_s) if self._leaf else 0.0

    def elapsed_s(self) -> float:
        return 0.0 if self.started is None else self._clock() - self.started

    def _attend(self, fd: int) -> None:
        if stream := self._streams.get(fd):
            stream.pull()
            if not stream.open:
                self._poll.unregister(fd)
            if stream is self._ends.record:
                self._note_start()
        elif fd == self._ends.wake:
            self._woken = True
            os.eventfd_read(fd)
            self._poll.unregister(fd)
        else:
            self.gone = True
            word = _last_word(self._ends.line)
            self.lost_launcher = not word
            self.how_it_ended = ending_of(word)
            self._poll.unregister(fd)

    def _note_start(self) -> None:
        if self.started is None and STARTED in self._ends.record.kept:
            self.started = self._clock()
            self._base_cpu_s = self._leaf.cpu_s() if self._leaf else 0.0

    def _reason(self) -> Stop | None:
        if self.gone:
            self._catch_up()
        if self.report:
            return Stop.ended
        if self.over:
            return Stop.output
        if self.gone:
            return Stop.broken if self.started is None or self.lost_launcher else Stop.lost
        if self._woken:
            return Stop.caller
        return self._late()

    def _catch_up(self) -> None:
        """The last words of a jail that is gone: the report counts more than the exit."""
        while self._ends.record.open and is_readable(self._ends.record.fd):
            self._ends.record.pull()
        self._note_start()

    def _late(self) -> Stop | None:
        now = self._clock()
        if self.started is None:
            return Stop.broken if now > self._created + LAUNCH_PATIENCE_S else None
        if self._leaf and now >= self._cpu_due:
            left = self._limits.cpu_s - self.cpu_s()
            if left <= 0:
                return Stop.cpu
            # However parallel, the tree cannot use up the rest sooner than this.
            self._cpu_due = now + max(left / (os.cpu_count() or 1), SHORTEST_WAIT_S)
        return Stop.wall if now >= self.started + self._limits.wall_s else None

    def _timeout_s(self) -> float:
        if self.started is None:
            return TICK_S
        now = self._clock()
        left = self.started + self._limits.wall_s - now
        if self._leaf:
            left = min(left, self._cpu_due - now)
        return min(TICK_S, max(left, SHORTEST_WAIT_S))
