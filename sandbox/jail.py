"""One jail, from its launch to its last process gone and its last trace removed.

A jail is used once. Whatever happens, its cgroup is killed whole before anything is said about it; the uid it had is
only given back when nothing runs under it.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from signal import SIGKILL

from appliance.errors import SandboxError, UsageError
from appliance.sandbox.cgroups import Leaf, Nursery, Usage
from appliance.sandbox.ending import Facts, JailResult, JailStatus, Stop, decide
from appliance.sandbox.image import INIT, Image
from appliance.sandbox.job import NOTHING, check_files, remove_job, write_job
from appliance.sandbox.launcher import Launcher, Stage
from appliance.sandbox.nsjail import CHANNEL_READ_FD, CHANNEL_WRITE_FD, RECORD_FD, WORK, Identity, arguments
from appliance.sandbox.policy import CHANNEL_VARIABLE, Policy
from appliance.sandbox.uids import Identities
from appliance.sandbox.watch import Clock, Ends, Report, Stream, Watch

MAX_COMMAND_BYTES = 96 * 1024
RECORD_BYTES = 256
LOG_BYTES = 16 * 1024
ENVIRONMENT = {
    "HOME": WORK,
    "LANG": "C.UTF-8",
    "TMPDIR": "/tmp",
    "PYTHONDONTWRITEBYTECODE": "1",
    # The host's processor count is visible; its processors are not the jail's to fill.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

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


@dataclass(frozen=True, slots=True)
class Order:
    """What to run, checked."""

    command: tuple[str, ...]
    policy: Policy
    files: Mapping[str, bytes]
    stdin: bytes = b""


@dataclass(frozen=True, slots=True)
class Channel:
    """Our ends of a conversation's two pipes, which outlive the jail: what it said can still be read."""

    read: int
    write: int

    def close(self) -> None:
        os.close(self.read)
        os.close(self.write)


def order(
    command: Sequence[str], policy: Policy, files: Mapping[str, bytes] | None, stdin: bytes = b""
) -> Order:
    """Check what a caller wants run; UsageError when it cannot be."""
    if isinstance(command, str) or not command or not command[0]:
        raise UsageError("the command is empty, or a string where a list of arguments belongs")
    if any("\0" in part for part in command):
        raise UsageError("an argument holds a NUL character")
    variables = [f"{name}={value}" for name, value in policy.env]
    if sum(len(os.fsencode(part)) + 1 for part in (*command, *variables)) > MAX_COMMAND_BYTES:
        raise UsageError(
            f"command and environment exceed {MAX_COMMAND_BYTES} bytes", remedy="pass large input as a file"
        )
    check_files(files or {})
    return Order(tuple(command), policy, dict(files or {}), stdin)


class Jail:
    """A running jail. `start`, then `supervise` from one thread; `stop` from any."""

    def __init__(self, host: Host, wanted: Order, *, conversing: bool, clock: Clock = time.monotonic) -> None:
        self._host, self._order, self._conversing = host, wanted, conversing
        self._stack = ExitStack()
        self._leaf: Leaf | None = None
        self._empty = True
        """No process of the jail is left, as far as we know."""
        self._waking = threading.Lock()
        self._wake = -1
        self.channel: Channel | None = None
        try:
            self._ends = self._launch()
        except BaseException as error:
            self._stack.close()
            if self.channel is not None:
                self.channel.close()
            if isinstance(error, OSError):
                remedy = "free memory, or allow more open files (ulimit -n)"
                raise SandboxError(f"cannot start a jail: {error}", remedy=remedy) from error
            raise
        self._watch = Watch(self._ends, wanted.policy.limits, self._leaf, clock)

    @property
    def started(self) -> bool:
        """Whether the jail got as far as the command."""
        return self._watch.started is not None

    def stop(self) -> None:
        """Ask the supervising thread to end the jail."""
        with self._waking:
            if self._wake >= 0:
                os.eventfd_write(self._wake, 1)

    def supervise(self) -> JailResult:
        """Watch the jail to its end, kill what is left, and say what happened."""
        with self._stack:
            stop = self._watch.run()
            wall_s, cpu_s = self._watch.elapsed_s(), self._watch.cpu_s()
            usage = self._leaf.usage() if self._leaf else None
            self._put_down()
            facts = self._facts(stop, cpu_s, usage)
            return self._result(facts, wall_s, usage)

    def _launch(self) -> Ends:
        """Take what a jail needs, in the order in which it is given back last, and start it."""
        limits, stage = self._order.policy.limits, self._host.launcher.stage()
        identity = self._lease()
        job = self._write_files(stage)
        joins = self._make_leaf()
        argv = arguments(
            self._host.binary,
            replace(self._host.image, root=stage.root),
            f"{stage.jobs}/{job}",
            limits,
            identity,
            enforced=self._leaf is not None,
            channel=self._conversing,
        )
        with ExitStack() as theirs:
            read_ends, fds = self._open_pipes(theirs)
            line = self._host.launcher.launch([*argv, *self._init_command()], joins, fds)
        self._stack.callback(line.close)
        self._empty = False
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._stack.callback(self._close_wake)
        caps = (limits.output_kb * 1024, limits.output_kb * 1024, LOG_BYTES, RECORD_BYTES)
        stdout, stderr, log, record = map(Stream, read_ends, caps)
        return Ends(stdout, stderr, record, log, line, self._wake)

    def _lease(self) -> Identity:
        identity = self._host.identities.lease()
        self._stack.callback(self._give_back, identity)
        return identity

    def _give_back(self, identity: Identity) -> None:
        """A uid under which something may still run stays leased."""
        if self._empty:
            self._host.identities.release(identity)

    def _make_leaf(self) -> list[str]:
        """Make the cgroup, if there are any here; return what joins it."""
        if self._host.nursery is None:
            return []
        self._leaf = self._host.nursery.leaf(self._order.policy.limits)
        self._stack.callback(self._remove_leaf)
        return self._leaf.joins

    def _write_files(self, stage: Stage) -> str:
        """Put the job's files on the stage; return the name of its folder there."""
        if not self._order.files:
            return NOTHING
        name = f"{os.getpid()}-{next(_sequence)}"
        self._stack.callback(remove_job, stage.jobs_fd, name)
        write_job(stage.jobs_fd, name, self._order.files)
        return name

    def _open_pipes(self, theirs: ExitStack) -> tuple[list[int], list[int]]:
        """Our read ends (stdout, stderr, log, record) and the descriptors of the jail, in their order."""
        fds = [_input(self._order.stdin)]
        theirs.callback(os.close, fds[0])
        ours = []
        for _ in range(4):
            read, write = os.pipe2(os.O_CLOEXEC)
            ours.append(self._kept(read))
            fds.append(write)
            theirs.callback(os.close, write)
        if self._conversing:
            (their_read, our_write), (our_read, their_write) = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
            self.channel = Channel(our_read, our_write)
            fds += [their_read, their_write]
            theirs.callback(os.close, their_read)
            theirs.callback(os.close, their_write)
        return ours, fds

    def _init_command(self) -> list[str]:
        image, policy = self._host.image, self._order.policy
        environment = {**ENVIRONMENT, "PATH": image.search_path, **dict(policy.env)}
        if self._conversing:
            environment[CHANNEL_VARIABLE] = f"{CHANNEL_READ_FD},{CHANNEL_WRITE_FD}"
        pairs = [f"{name}={value}" for name, value in environment.items()]
        # Without root the interpreter is the jail's own file, and nsjail still has the capability to read it: only
        # an exec after the one that drops them makes the init unreadable.
        detour = [] if os.geteuid() == 0 else ["/usr/bin/env"]
        python = [*detour, image.interpreter, "-I", "-S", "-X", "utf8", INIT]
        return [*python, str(RECORD_FD), str(len(pairs)), *pairs, *self._order.command]

    def _put_down(self) -> None:
        """Kill everything and read what is left in the pipes; then nothing of the jail exists."""
        if self._leaf:
            self._leaf.kill()
        self._watch.order(b"k")
        settled = self._watch.settle()
        if self._leaf:
            self._remove_leaf()
        else:
            self._empty = settled

    def _remove_leaf(self) -> None:
        assert self._leaf is not None
        self._empty = self._leaf.remove()

    def _close_wake(self) -> None:
        with self._waking:
            os.close(self._wake)
            self._wake = -1

    def _facts(self, stop: Stop, cpu_s: float, usage: Usage | None) -> Facts:
        report = self._watch.report or Report()
        trouble = self._trouble(stop)
        return Facts(
            stop=Stop.broken if trouble else stop,
            wait_status=report.wait_status,
            exec_errno=report.exec_errno,
            cpu_s=cpu_s if usage else report.cpu_s,
            oom_kills=usage.oom_kills if usage else 0,
            met_limit=usage is not None and usage.met_limit,
            pids_hits=usage.pids_hits if usage else 0,
            over=self._watch.over,
            full=report.full,
            trouble=trouble,
        )

    def _trouble(self, stop: Stop) -> str:
        if not self._empty:
            return "processes of the jail outlived their kill"
        if stop is not Stop.broken:
            return ""
        if self._watch.lost_launcher:
            return "the jail launcher died"
        said = bytes(self._ends.log.kept).decode(errors="replace").strip()
        return f"nsjail did not get as far as the command: {said or 'no word from it in time'}"

    def _result(self, facts: Facts, wall_s: float, usage: Usage | None) -> JailResult:
        ending = decide(facts, self._order.policy.limits)
        killed = int(SIGKILL) if ending.status is JailStatus.signal else None
        peak = usage.peak_bytes if usage else None
        return JailResult(
            status=ending.status,
            exit_code=facts.code,
            signal=facts.died_of or killed,
            cpu_s=facts.cpu_s,
            wall_s=wall_s,
            peak_mib=None if peak is None else peak / 2**20,
            stdout=bytes(self._ends.stdout.kept),
            stderr=bytes(self._ends.stderr.kept),
            limits="full" if usage else "reduced",
            detail=ending.detail,
        )

    def _kept(self, fd: int) -> int:
        self._stack.callback(os.close, fd)
        return fd


def _input(body: bytes) -> int:
    """A descriptor to read `body` from: nobody has to feed it, and sealed, nobody can change it."""
    if not body:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    fd = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(body)
        os.lseek(fd, 0, os.SEEK_SET)
        fcntl.fcntl(fd, _ADD_SEALS, _SEALS)
    except BaseException:
        os.close(fd)
        raise
    return fd
