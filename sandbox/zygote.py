"""The process that jails are forked from: a preloaded interpreter which nsjail holds in an outer jail.

Run as `python3 -B zygote.py CONTROL MACHINE INLINE` as process 1 of an outer jail that shows the image, and below
/job a folder per inner jail. The outer nsjail took everything but the right to make namespaces, and under root to map
the reserved uids. For each request it forks a child into namespaces of its own (user, mount, process, network, IPC,
UTS, cgroup), which joins its cgroup, takes its uid, gets private /work, /tmp and /dev/shm, its own /proc and only its
own folder of /job, drops every capability, installs the system call filter, and then is the jail's init: it takes one
order and ends. The job itself is one more fork, made ahead, so an order for Python is carried out at once.

Requests and lines are the spawner's. Descriptors of a request: the line, then 0 upwards of the init (stdin, stdout,
stderr, log, control, perhaps a channel's two), then one for each cgroup file to join.
"""

# pathlib makes more objects for the same.
# ruff: noqa: PTH116

from __future__ import annotations

import _random
import _signal  # type: ignore[import-not-found]
import _socket
import ctypes
import gc
import os
import random
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

sys.path.insert(0, str(Path(__file__).parents[2]))

from appliance.sandbox import init, inline, namespaces, resident, spawner

LOG_FD, CONTROL_FD = 3, 4
LIMITS = {
    "cpu": resource.RLIMIT_CPU,
    "fsize": resource.RLIMIT_FSIZE,
    "as": resource.RLIMIT_AS,
    "nproc": resource.RLIMIT_NPROC,
    "nofile": resource.RLIMIT_NOFILE,
}
REHEARSAL = b"\0".join(
    [b"00" * 32, b"", b"1", b"PATH=/usr/local/bin:/usr/bin:/bin", b"python3", b"-c", b"pass"]
)
FLAGS = frozenset("BSIEsuP")
"""Options of `python3` that need no new interpreter."""
PRELOADED = (
    "bisect", "collections", "contextlib", "copy", "dataclasses", "datetime", "enum", "functools", "heapq", "io",
    "itertools", "json", "math", "operator", "random", "re", "string", "struct", "threading", "time", "types", "typing",
)  # fmt: skip
"""What small programs import. Each megabyte costs every fork about 0.2 ms, at its start and its end together."""


class Candidate(BaseException):
    """Unwinds a forked child to the bottom of its stack, where the job's Python takes over."""

    def __init__(self, name: str, program: str, words: list[str], flags: set[str]) -> None:
        self.job = name, program, words, flags


class Zygote(spawner.Spawner):
    """The spawner's loop, with jails made by forking instead of by nsjail."""

    def __init__(self, control: socket.socket, machine: str, interpreter: str, program: bytes) -> None:
        super().__init__(control, os.getppid())
        self._fork = namespaces.forker(machine)
        self._same = identity(interpreter) if interpreter else None
        # Held for the life of the process: the kernel copies it from here in every child.
        self._program = ctypes.create_string_buffer(program, len(program))
        self._filter = struct.pack("=H6xQ", len(program) // 8, ctypes.addressof(self._program))

    def spawn(self, body: bytes, fds: list[int]) -> spawner.Child:
        """Fork one jail. Without a word through `wait` the child ends by itself."""
        wanted = namespaces.Wanted.of(body)
        line, *child_fds = fds
        wait, go = os.pipe()
        try:
            pid = self._fork(namespaces.OTHER_NAMESPACES)
        except OSError:
            os.close(wait)
            os.close(go)
            raise
        if pid == 0:
            os.close(go)
            self._be_init(wanted, child_fds, wait)
        os.close(wait)
        try:
            namespaces.map_ids(pid, wanted.uid)
            os.write(go, b"g")
        except OSError as error:
            os.write(child_fds[LOG_FD], f"zygote: {error}\n".encode())
        os.close(go)
        return spawner.Child(pid, line, [])

    def kill_strays(self) -> None:
        """There are none: what a jail leaves dies with its process namespace."""

    def _be_init(self, wanted: namespaces.Wanted, fds: list[int], wait: int) -> NoReturn:
        """In the child: build the jail, then serve its order."""
        try:
            if not os.read(wait, 1):
                os._exit(255)
            spawner.place(fds)
            forget()
            namespaces.enter(range(len(fds) - wanted.joins, len(fds)))
            changes = namespaces.furnish(wanted)
            namespaces.shut(self._filter)
            os.close(LOG_FD)
        except OSError as error:
            os.write(LOG_FD, f"zygote: {error}\n".encode())
            os._exit(255)
        try:
            if wanted.idle_s:
                self._attend(changes, wanted.idle_s)
            self._serve()
        except OSError:
            # The host is gone.
            os._exit(255)

    def _serve(self) -> NoReturn:
        """Be the init of one order."""
        job = Job(self._fork, self._same, lambda: os.close(CONTROL_FD), ahead=True)
        # What the command prints ends with the command; a conversation ends after our report.
        for fd in (0, 1, 2):
            os.close(fd)
        # Rehearsed, like the job.
        init.ending(0, init.PLACES)
        init.serve(CONTROL_FD, job.start)
        os._exit(0)

    def _attend(self, changes: int, idle_s: float) -> NoReturn:
        """Be the init of a session. Its descriptors stay open from one command to the next."""
        os.set_inheritable(CONTROL_FD, False)
        attendant = resident.Resident(
            CONTROL_FD,
            changes,
            idle_s,
            lambda message: Job(self._fork, self._same, attendant.forget).start(message),
        )
        attendant.serve()
        os._exit(0)


def forget() -> None:
    """In a child: the descriptors that the zygote's signals ring are its own."""
    signal.set_wakeup_fd(-1)
    for number in (_signal.SIGCHLD, _signal.SIGINT):
        _signal.signal(number, _signal.SIG_DFL)


class Job:
    """The process that will be the command, forked ahead of its order."""

    def __init__(
        self,
        fork: Callable[[int], int],
        same: tuple[int, int] | None,
        begin: Callable[[], None],
        *,
        ahead: bool = False,
    ) -> None:
        """`same`: device and inode of the program that this process is as good as. `begin`: what the child lets go of.
        `ahead`: there is time until the order comes."""
        self._same = same
        self._line, line = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        self._line.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDBUF, init.ORDER_BYTES)
        self._pid = fork(0)
        if self._pid == 0:
            os.setsid()
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
            self._line.close()
            begin()
            if ahead:
                self._rehearse()
            self._wait(line)
        line.close()

    def start(self, message: bytes) -> int:
        """Let it go; raise what kept its program from being executed."""
        self._line.send(message)
        word = self._line.recv(16)
        self._line.close()
        if word:
            os.waitpid(self._pid, 0)
            raise OSError(int(word), "exec")
        return self._pid

    def _rehearse(self) -> None:
        """Do what every job does: the memory it writes to is still the zygote's, and is copied now and not later."""
        order = init.Order(REHEARSAL)
        self._inlined(order)
        adopt(order)
        inline.rehearse()

    def _wait(self, line: _socket.socket) -> NoReturn:
        """In the child, which knows no secret and holds nothing but its end of the line."""
        message = line.recv(init.ORDER_BYTES)
        if not message:
            os._exit(0)
        order = init.Order(message)
        for name, number in order.limits.items():
            resource.setrlimit(LIMITS[name], (number, number))
        if candidate := self._inlined(order):
            line.close()
            adopt(order)
            raise candidate
        line.send(b"%d" % execute(order))
        os._exit(127)

    def _inlined(self, order: init.Order) -> Candidate | None:
        """The order when this interpreter is as good for it as a new one."""
        name, *rest = order.command
        flags: set[str] = set()
        while rest and rest[0][:1] == "-" and rest[0][1:] and set(rest[0][1:]) <= FLAGS:
            flags |= set(rest.pop(0)[1:])
        if len(rest) < 1 + (rest[:1] == ["-c"]) or (rest[0].startswith("-") and rest[0] != "-c"):
            return None
        foreign = (name for name in order.environment if name.startswith(("PYTHON", "LC_", "LD_")))
        if any(name not in KEPT and order.environment[name] != HELD.get(name) for name in foreign):
            return None
        found = next((path for path in init.candidates(order) if os.access(path, os.X_OK)), "")
        fits = found and self._same and identity(found) == self._same
        return Candidate(name, found, rest, flags) if fits else None


def identity(path: str) -> tuple[int, int] | None:
    """Device and inode of a file; None when there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


KEPT = frozenset({"PYTHONDONTWRITEBYTECODE", "LC_CTYPE"})
HELD: dict[str, str] = {}
"""What this interpreter was started with, and a job may ask for without getting a new one."""


def adopt(order: init.Order) -> None:
    """The order's randomness and variables, in a process that may be looked into from now on."""
    spawner.libc.prctl(namespaces.PR_SET_DUMPABLE, 1, 0, 0, 0)
    # As good as random.seed(bytes), which hashes them first.
    _random.Random.seed(random._inst, int.from_bytes(order.seed, "big"))
    for name in [*os.environ]:
        del os.environ[name]
    for name, value in order.environment.items():
        os.environ[name] = value


def execute(order: init.Order) -> int:
    """Replace this process by the command; return the most telling error number when that is refused."""
    for number in init.RESET:
        _signal.signal(number, _signal.SIG_DFL)
    refused = 2
    for path in init.candidates(order):
        try:
            os.execve(path, order.command, order.environment)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            refused = error.errno or refused
    return refused


def prepare(arguments: list[str]) -> Zygote:
    control = socket.socket(fileno=int(arguments[0]))
    for name in PRELOADED:
        __import__(name)
    # Its children must be ours to map: their files in /proc are not while they cannot be dumped.
    namespaces.checked(spawner.libc.prctl(namespaces.PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")
    program = control.recv(spawner.MESSAGE_BYTES)
    zygote = Zygote(control, arguments[1], arguments[2], program)
    inline.prepare()
    HELD.update({name: value for name, value in os.environ.items() if name == "PYTHONHASHSEED"})
    os.environ.clear()
    control.send(b"ready")
    # What is loaded now is shared by every jail: the collector must not touch, and thereby copy, it.
    gc.collect()
    gc.freeze()
    return zygote


if __name__ == "__main__":
    _candidate: Candidate | None = None
    # Named, so that it lives: the descriptors of its sockets mean something else in a child.
    _zygote = prepare(sys.argv[1:])
    try:
        _zygote.serve()
    except Candidate as _found:
        _candidate = _found.with_traceback(None)
    if _candidate is not None:
        inline.carry_out(*_candidate.job)
