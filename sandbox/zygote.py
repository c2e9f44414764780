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

# pathlib costs more to import than all the rest.
# ruff: noqa: PTH102, PTH123

from __future__ import annotations

import ctypes
import fcntl
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
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).parents[2]))

from appliance.sandbox import init, inline, resident, spawner

LOG_FD, CONTROL_FD = 3, 4
INSIDE_ID = 1000
MS_NOEXEC = 8
NEW_CGROUP, OTHER_NAMESPACES = 0x0200_0000, 0x7C02_0000
"""CLONE_NEWCGROUP after the cgroup is joined, so that the jail is at its root; mnt, uts, ipc, user, pid, net before."""
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 4, 22, 24, 38, 47
SECCOMP_MODE_FILTER, PR_CAP_AMBIENT_CLEAR_ALL, CAPABILITY_VERSION_3 = 2, 4, 0x2008_0522
SYS_CLONE = {"x86_64": 56, "aarch64": 220}
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
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

libc = spawner.libc


class Candidate(BaseException):
    """Unwinds a forked child to the bottom of its stack, where the job's Python takes over."""

    def __init__(self, name: str, program: str, words: list[str], flags: set[str]) -> None:
        self.job = name, program, words, flags


def checked(result: int, what: str) -> int:
    if result == -1:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


class Zygote(spawner.Spawner):
    """The spawner's loop, with jails made by forking instead of by nsjail."""

    def __init__(self, control: socket.socket, machine: str, inline: str, program: bytes) -> None:
        super().__init__(control, os.getppid())
        self._clone, self._inline = SYS_CLONE[machine], inline
        # Held for the life of the process: the kernel copies it from here in every child.
        self._program = ctypes.create_string_buffer(program, len(program))
        self._filter = struct.pack("=H6xQ", len(program) // 8, ctypes.addressof(self._program))

    def spawn(self, request: dict[str, Any], fds: list[int]) -> spawner.Child:
        line, *child_fds = fds
        wait, go = os.pipe()
        # As fork(2), but into new namespaces; the libc is not told, which only matters to its own fork, later.
        pid = libc.syscall(self._clone, OTHER_NAMESPACES | signal.SIGCHLD, 0, 0, 0, 0)
        if pid == 0:
            os.close(go)
            self._be_init(request, child_fds, wait)
        try:
            checked(pid, "clone")
            map_ids(pid, request["uid"])
            os.write(go, b"g")
        except OSError as error:
            # Without a word through `wait` the child ends by itself.
            os.write(child_fds[LOG_FD], f"zygote: {error}\n".encode())
        for fd in (wait, go, *child_fds):
            os.close(fd)
        return spawner.Child(pid, line, [])

    def _be_init(self, request: dict[str, Any], fds: list[int], wait: int) -> NoReturn:
        """In the child: build the jail, then serve its order."""
        kept = len(fds) - request["joins"]
        try:
            if not os.read(wait, 1):
                os._exit(255)
            spawner.place(fds)
            self.forget()
            enter(range(kept, len(fds)))
            changes = furnish(request)
            self._shut()
            os.close(LOG_FD)
        except OSError as error:
            os.write(LOG_FD, f"zygote: {error}\n".encode())
            os._exit(255)
        if session := request.get("session"):
            self._attend(changes, session["idle_s"])
        job = Job(self._inline, lambda: os.close(CONTROL_FD), ahead=True)
        # What the command prints ends with the command; a conversation ends after our report.
        for fd in (0, 1, 2):
            os.close(fd)
        # Rehearsed, like the job.
        init.ending(0)
        init.serve(CONTROL_FD, job.start)
        os._exit(0)

    def _attend(self, changes: int, idle_s: float) -> NoReturn:
        """Be the init of a session. Its descriptors stay open from one command to the next."""
        os.set_inheritable(CONTROL_FD, False)
        attendant = resident.Resident(
            CONTROL_FD, changes, idle_s, lambda message: Job(self._inline, attendant.forget).start(message)
        )
        attendant.serve()
        os._exit(0)

    def _shut(self) -> None:
        """No capability, no way to one, and no system call that leads out."""
        checked(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "prctl")
        number = 0
        while libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
            number += 1
        header, nothing = struct.pack("=Ii", CAPABILITY_VERSION_3, 0), bytes(24)
        checked(libc.capset(header, nothing), "capset")
        checked(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")
        checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
        checked(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, self._filter, 0, 0), "seccomp")


class Job:
    """The process that will be the command, forked ahead of its order."""

    def __init__(self, inline: str, begin: Callable[[], None], *, ahead: bool = False) -> None:
        """`begin`: what the child lets go of. `ahead`: there is time until the order comes."""
        self._inline = inline
        self._line, line = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, init.ORDER_BYTES)
        self._pid = os.fork()
        if self._pid == 0:
            os.setsid()
            signal.signal(signal.SIGINT, signal.default_int_handler)
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

    def _wait(self, line: socket.socket) -> NoReturn:
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
        if any(name.startswith(("PYTHON", "LC_", "LD_")) and name not in KEPT for name in order.environment):
            return None
        found = next((path for path in init.candidates(order) if os.access(path, os.X_OK)), "")
        fits = self._inline and os.path.realpath(found) == self._inline
        return Candidate(name, found, rest, flags) if fits else None


KEPT = frozenset({"PYTHONDONTWRITEBYTECODE", "LC_CTYPE"})


def adopt(order: init.Order) -> None:
    """The order's randomness and variables, in a process that may be looked into from now on."""
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    random.seed(order.seed)
    os.environ.clear()
    os.environ.update(order.environment)


def map_ids(pid: int, uid: int) -> None:
    """One id inside: the one that the jail was given."""
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{INSIDE_ID} {uid} 1"),
        ("gid_map", f"{INSIDE_ID} {uid} 1"),
    ):
        with open(f"/proc/{pid}/{name}", "w") as file:
            file.write(text)


def enter(joins: range) -> None:
    """Into the cgroup, then into a view of cgroups that begins there, then to the jail's own ids."""
    for fd in joins:
        os.write(fd, b"0")
        os.close(fd)
    checked(libc.unshare(NEW_CGROUP), "unshare")
    checked(libc.setresgid(INSIDE_ID, INSIDE_ID, INSIDE_ID), "setresgid")
    checked(libc.setresuid(INSIDE_ID, INSIDE_ID, INSIDE_ID), "setresuid")


def furnish(request: dict[str, Any]) -> int:
    """The private file systems, the jail's own processes and files, and a loopback that is up.

    For a session /work is an overlay over the job's folder, and the folder of its changes is returned; else -1.
    """
    room = f"size={request['disk_mb'] << 20},nr_inodes={request['inodes']}"
    flags = spawner.MS_NOSUID | spawner.MS_NODEV
    for path, mode in (("/work", "0700"), ("/tmp", "1777"), ("/dev/shm", "1777")):
        spawner.mount("none", path, "tmpfs", flags, f"{room},mode={mode}")
    changes = overlay(f"/job/{request['job']}", flags) if request.get("session") else -1
    spawner.mount(f"/job/{request['job']}", "/job", "", spawner.MS_BIND)
    spawner.mount("none", "/proc", "proc", spawner.MS_RDONLY | flags | MS_NOEXEC)
    raise_loopback()
    os.chdir("/work")
    return changes


def overlay(lower: str, flags: int) -> int:
    """Cover /work with an overlay whose upper folder lies on the file system that was there."""
    for name in ("upper", "overlay"):
        os.mkdir(f"/work/{name}", 0o700)
    changes = os.open("/work/upper", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    options = f"lowerdir={lower},upperdir=/work/upper,workdir=/work/overlay,userxattr"
    spawner.mount("overlay", "/work", "overlay", flags, options)
    return changes


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        wanted = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack_from("16sH", fcntl.ioctl(handle, SIOCGIFFLAGS, wanted))[1]
        fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def execute(order: init.Order) -> int:
    """Replace this process by the command; return the most telling error number when that is refused."""
    for number in init.RESET:
        signal.signal(number, signal.SIG_DFL)
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
    checked(libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")
    program = control.recv(spawner.MESSAGE_BYTES)
    control.send(b"ready")
    # What is loaded now is shared by every jail: the collector must not touch, and thereby copy, it.
    gc.collect()
    gc.freeze()
    return Zygote(control, arguments[1], arguments[2], program)


if __name__ == "__main__":
    _candidate: Candidate | None = None
    try:
        prepare(sys.argv[1:]).serve()
    except Candidate as _found:
        _candidate = _found.with_traceback(None)
    if _candidate is not None:
        inline.carry_out(*_candidate.job)
