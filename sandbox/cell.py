"""Everything one jail has before it knows what to run: uid, cgroup, folder for its files, pipes, a process waiting.

A cell is made by nsjail (`cold`) or forked from a zygote (`warm`), and is used once either way. Everything it took is
given back when it closes; a uid under which something may still run stays leased.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from appliance.errors import SandboxError
from appliance.sandbox.auditing import audited
from appliance.sandbox.cgroups import Leaf, Nursery
from appliance.sandbox.changes import Tree, lay_out
from appliance.sandbox.channel import Channel
from appliance.sandbox.image import INIT, Image
from appliance.sandbox.job import make_job, remove_job, write_files
from appliance.sandbox.launcher import Launcher, Stage
from appliance.sandbox.nsjail import CONTROL_FD, arguments
from appliance.sandbox.policy import Limits
from appliance.sandbox.uids import Identities
from appliance.sandbox.watch import is_readable

ORDER_BUFFER_BYTES = 256 * 1024
DISCARD_PATIENCE_S = 5.0

_ADD_SEALS, _SEALS = (
    fcntl.F_ADD_SEALS,
    fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE,
)

_sequence = itertools.count()


@dataclass(frozen=True, slots=True)
class Host:
    """What all jails of one client share."""

    launcher: Launcher
    image: Image
    nursery: Nursery | None
    """None: no cgroups here, limits are reduced."""
    identities: Identities
    binary: Path
    gravedigger: ThreadPoolExecutor
    """Sees the inits of warm jails out and removes their cgroups, which can take the kernel a while."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a jail cannot change once it is there: jails of one shape can stand in for each other."""

    disk_mb: int
    inodes: int
    conversing: bool = False
    idle_s: float = 0.0
    """Of a session: how long it waits for the next command. 0: no session."""
    cpus: float = 0.0
    cpuset: str = ""

    @classmethod
    def of(cls, limits: Limits, *, conversing: bool = False, idle_s: float = 0.0) -> Shape:
        return cls(limits.disk_mb, limits.inodes, conversing, idle_s, limits.cpus, limits.cpuset)

    @property
    def limits(self) -> Limits:
        """Those of a jail of this shape that waits for its order."""
        return Limits(disk_mb=self.disk_mb, inodes=self.inodes, cpus=self.cpus, cpuset=self.cpuset)


class Maker(Protocol):
    """Starts what lives in a cell; returns the line to it."""

    def start(self, cell: Cell, fds: list[int]) -> socket.socket: ...


class Cell:
    """A jail without an order."""

    def __init__(
        self, host: Host, limits: Limits, shape: Shape, maker: Maker, start: Tree | None = None
    ) -> None:
        """`start`: what a session's /work begins with; for a single order they come with it."""
        self.host, self.limits, self.shape, self._start = host, limits, shape, start
        self.leaf: Leaf | None = None
        self.channel: Channel | None = None
        self.leaving = False
        """Only the jail's init is left, on its way out."""
        self._maker = maker
        self.empty = True
        """No process of the jail is left, as far as we know."""
        self._stack = ExitStack()
        try:
            self._take(maker)
        except BaseException as error:
            self.close()
            if self.channel is not None:
                self.channel.close()
            if isinstance(error, OSError):
                remedy = "free memory, or allow more open files (ulimit -n)"
                raise SandboxError(f"cannot start a jail: {error}", remedy=remedy) from error
            raise

    def give(self, files: Mapping[str, bytes], stdin: bytes, order: bytes) -> None:
        """Hand over an order with its files and its input; the init runs it at once."""
        if files:
            write_files(self.stage.jobs_fd, self.job, files)
        _fill(self._stdin, stdin)
        # One that is gone already is found out, with its reason, by watching it.
        with suppress(OSError):
            self.control.send(order)

    def give_again(self, stdin: bytes, order: bytes) -> None:
        """The next order of a session."""
        os.ftruncate(self._stdin, 0)
        # The commands before have read from here.
        os.lseek(self._stdin, 0, os.SEEK_SET)
        _write(self._stdin, stdin)
        with suppress(OSError):
            self.control.send(order)

    def alive(self) -> bool:
        """Whether the process of the line has not been reaped yet."""
        return not is_readable(self.line.fileno())

    def kill(self) -> None:
        if self.leaf:
            self.leaf.kill()

    @property
    def reduced(self) -> bool:
        """Whether memory or CPU time are limited for each process only, or memory but not swap."""
        return self.leaf is None or not self.leaf.swap_limited

    @property
    def warm(self) -> bool:
        """Made by a zygote: its init is reaped after all of its process namespace."""
        return not isinstance(self._maker, ColdMaker)

    def bury(self, *, settled: bool) -> None:
        """After the kill: make sure that nothing is left. `settled`: the line's process and every pipe have ended."""
        self.empty = self.leaf.remove() if self.leaf else settled

    def bury_later(self) -> None:
        """Let a jail whose init is leaving end in its own time."""
        self.host.gravedigger.submit(self._bury_left)

    def _bury_left(self) -> None:
        gone = self._end(b"")
        self.bury(settled=gone)
        self.close()

    def _end(self, word: bytes) -> bool:
        """Wait for the word that the line's process was reaped, after one of ours."""
        self.line.settimeout(DISCARD_PATIENCE_S)
        with suppress(OSError):
            if word:
                self.line.send(word)
            return bool(self.line.recv(64))
        return False

    def close(self) -> None:
        """Give everything back but the channel, which is the conversation's."""
        self._stack.close()

    def discard(self) -> None:
        """End a jail that was never given an order."""
        self.kill()
        self.bury(settled=self._end(b"k"))
        if self.channel is not None:
            self.channel.close()
        self.close()

    def _take(self, maker: Maker) -> None:
        """Take what a jail needs, in the order in which it is given back last, and start it."""
        self.stage: Stage = self.host.launcher.stage()
        self.identity = self.host.identities.lease()
        self._stack.callback(self._give_back)
        self.job = f"{os.getpid()}-{next(_sequence)}"
        self._stack.callback(remove_job, self.stage.jobs_fd, self.job)
        make_job(self.stage.jobs_fd, self.job)
        if self._start:
            self._lay_out(self._start)
        if self.host.nursery is not None:
            self.leaf = self.host.nursery.leaf(self.limits)
            self._stack.callback(self.leaf.remove)
        with ExitStack() as theirs:
            fds = self._open_pipes(theirs)
            self.line = maker.start(self, fds)
        self._stack.callback(self.line.close)
        self.empty = False

    def _lay_out(self, start: Tree) -> None:
        """What a session begins with, as the jail's own files."""
        folder = os.open(self.job, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.stage.jobs_fd)
        try:
            lay_out(folder, start, self.identity.uid if os.geteuid() == 0 else None)
        finally:
            os.close(folder)

    def _give_back(self) -> None:
        if self.empty:
            self.host.identities.release(self.identity)

    def _open_pipes(self, theirs: ExitStack) -> list[int]:
        """The descriptors of the jail, in their order; our ends of them become ours."""
        self._stdin = self._kept(os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING))
        if self.shape.idle_s:
            # No command may seal what the next one reads.
            fcntl.fcntl(self._stdin, _ADD_SEALS, fcntl.F_SEAL_SEAL)
        fds, ours = [self._stdin], []
        for _ in range(3):
            read, write = os.pipe2(os.O_CLOEXEC)
            ours.append(self._kept(read))
            fds.append(write)
            theirs.callback(os.close, write)
        self.stdout, self.stderr, self.log = ours
        self.control, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._stack.callback(self.control.close)
        theirs.callback(inner.close)
        # The default buffer of some hosts is smaller than our largest order.
        self.control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ORDER_BUFFER_BYTES)
        fds.append(inner.fileno())
        if self.shape.conversing:
            (their_read, our_write), (our_read, their_write) = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
            self.channel = Channel(our_read, our_write)
            fds += [their_read, their_write]
            theirs.callback(os.close, their_read)
            theirs.callback(os.close, their_write)
        return fds

    def _kept(self, fd: int) -> int:
        self._stack.callback(os.close, fd)
        return fd


class ColdMaker:
    """Every jail by an nsjail of its own."""

    def start(self, cell: Cell, fds: list[int]) -> socket.socket:
        return cell.host.launcher.launch(command_line(cell), joins(cell), fds)


@dataclass(frozen=True, slots=True)
class AuditedMaker:
    """The same under audit, which reports to `report`; the audit joins the cgroup for the jail, and stays out of it."""

    report: int

    def start(self, cell: Cell, fds: list[int]) -> socket.socket:
        wrapped = audited(command_line(cell), len(fds), joins=joins(cell))
        return cell.host.launcher.launch(wrapped, [], [*fds, self.report])


def joins(cell: Cell) -> list[str]:
    return cell.leaf.joins if cell.leaf else []


def command_line(cell: Cell) -> list[str]:
    """nsjail's, with the init that it starts."""
    host, stage = cell.host, cell.stage
    argv = arguments(
        host.binary,
        replace(host.image, root=stage.root),
        f"{stage.jobs}/{cell.job}",
        cell.limits,
        cell.identity,
        enforced=cell.leaf is not None,
        channel=cell.shape.conversing,
    )
    return [*argv, *interpreter(host.image), "-I", "-S", "-X", "utf8", INIT, str(CONTROL_FD)]


def interpreter(image: Image) -> list[str]:
    """The words that run the image's interpreter as one that other processes cannot look into."""
    # Without root the interpreter is the jail's own file, and nsjail still has the capability to read it: only an
    # exec after the one that drops them makes it unreadable.
    detour = [] if os.geteuid() == 0 else image.detour
    return [*detour, *image.loader, image.interpreter]


def _fill(fd: int, body: bytes) -> None:
    """Nobody has to feed what is read from here; sealed, nobody can change it."""
    _write(fd, body)
    fcntl.fcntl(fd, _ADD_SEALS, _SEALS)


def _write(fd: int, body: bytes) -> None:
    if body:
        with open(fd, "wb", closefd=False) as file:
            file.write(body)
    os.lseek(fd, 0, os.SEEK_SET)
