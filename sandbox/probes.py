"""Attacks on a jail, each with the status it must end in.

Two kinds. A greedy one runs into a limit. A prying one tries things that must be refused; it exits with 1 and names
what was allowed, so that `ok` means that every door was shut. Most are one program in one jail; a scene is played by
a function that starts jails itself and returns what was allowed. None harms a host on which it succeeds.

`PROBES` is the self-test that `appliance doctor` runs; `catalogue` has all of them. Anything that runs and opens
jails as `Jails` does can be put through them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from appliance.paths import Paths
from appliance.sandbox.client import JailResult
from appliance.sandbox.ending import JailStatus
from appliance.sandbox.policy import Limits, Policy

CANARY = "APPLIANCE_CANARY"
"""Variable in which a prying probe finds the path of a host file that it must not be able to see."""
CANARY_PID, CANARY_PORT, CANARY_SOCKET = f"{CANARY}_PID", f"{CANARY}_PORT", f"{CANARY}_SOCKET"
"""The same for a process, a listening loopback port and a listening abstract socket of the host."""
SMALL = Limits(memory_mb=64, pids=16, cpu_s=5, wall_s=10, disk_mb=2, inodes=64, output_kb=64)
HASTY = Limits(memory_mb=48, pids=16, cpu_s=0.3, wall_s=10)
IMPATIENT = Limits(memory_mb=48, pids=16, cpu_s=5, wall_s=0.3)

# What prying probes share: `shut` runs something and notes it when it was not refused.
_LIBRARY = """
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
allowed = []

def shut(what, call, *errors):
    try:
        call()
    except OSError as error:
        if not errors or error.errno in errors:
            return
        what = f"{what}: {error}"
    allowed.append(what)

def call(number, *arguments):
    if libc.syscall(number, *arguments) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

def verdict():
    print("\\n".join(allowed))
    sys.exit(1 if allowed else 0)
"""
_PRELUDE = "import sys; sys.path.insert(0, '/job')\nfrom library import *\n"


class Talk(Protocol):
    """A conversation with a jail."""

    def send(self, body: bytes) -> None: ...
    def receive(self, max_bytes: int, timeout_s: float) -> bytes | None: ...
    def finish(self) -> JailResult: ...


class Runs(Protocol):
    """What `Jails` does."""

    def run(
        self,
        command: Sequence[str],
        policy: Policy,
        *,
        files: Mapping[str, bytes] | None = None,
        stdin: bytes = b"",
    ) -> JailResult: ...

    def open(
        self, command: Sequence[str], policy: Policy, *, files: Mapping[str, bytes] | None = None
    ) -> Talk: ...


@dataclass(frozen=True, slots=True)
class Stage:
    """What a scene plays with."""

    jails: Runs
    policy: Policy
    paths: Paths | None
    """Where a client process of its own finds the images."""


Scene = Callable[[Stage], list[str]]


@dataclass(frozen=True, slots=True)
class Probe:
    """One attack: a Python program, a command or a scene."""

    name: str
    expected: JailStatus
    source: str = ""
    command: tuple[str, ...] = ("python3", "-B", "/job/probe.py")
    limits: Limits = field(default_factory=lambda: SMALL)
    id: str = ""
    """Its place in the catalogue of attacks."""
    also: tuple[str, ...] = ()
    """Other places of the catalogue that it covers."""
    fast: bool = True
    """Belongs to the subset that is run often."""
    scene: Scene | None = None
    needs: tuple[str, ...] = ()
    """What a host must have for it: keys of `catalogue.NEEDS`."""

    @property
    def files(self) -> dict[str, bytes]:
        return {"probe.py": program(self.source), "library.py": _LIBRARY.encode()}

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.id, *self.also)


def program(source: str) -> bytes:
    """A probe's whole program; it wants `library.py` beside it."""
    return (_PRELUDE + source).encode()


def run_probe(
    jails: Runs, probe: Probe, variables: Mapping[str, str] | None = None, paths: Paths | None = None
) -> JailResult:
    """Run one probe in a fresh jail. A scene's result is `ok`, or `exit` with what was allowed on stdout."""
    policy = Policy(probe.limits, tuple((variables or {}).items()))
    if probe.scene is None:
        return jails.run(probe.command, policy, files=probe.files)
    started = time.monotonic()
    allowed = probe.scene(Stage(jails, policy, paths))
    return JailResult(
        status=JailStatus.exit if allowed else JailStatus.ok,
        exit_code=1 if allowed else 0,
        signal=None,
        cpu_s=0.0,
        wall_s=time.monotonic() - started,
        peak_mib=None,
        stdout="\n".join(allowed).encode(errors="backslashreplace"),
        stderr=b"",
        limits="full",
    )


GREEDY: tuple[Probe, ...] = (
    Probe("fork_bomb", JailStatus.processes, "while True: os.fork()", limits=Limits(pids=16), id="A1"),
    Probe("fork_bomb_sessions", JailStatus.processes, "import signal\nsignal.signal(15, signal.SIG_IGN)\n"
          "while True:\n    os.fork() or os.setsid()", limits=Limits(pids=16), id="A2"),
    Probe("thread_bomb", JailStatus.processes, "import threading, time\n"
          "for _ in range(99): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()", id="A4"),
    Probe("memory_bomb", JailStatus.memory, "hoard = []\nwhile True: hoard.append(b'x' * (1 << 20))", id="A6"),
    Probe("memory_of_many", JailStatus.memory, "for _ in range(14):\n    if os.fork() == 0:\n"
          "        hoard = b'x' * (8 << 20)\n        os.read(os.pipe()[0], 1)\n"
          "_, status = os.wait()\nsys.exit(status != 0)", id="A7"),
    Probe("memory_in_files", JailStatus.memory, "for place in ('/work', '/tmp', '/dev/shm'):\n"
          "    open(place + '/x', 'wb').write(b'x' * (40 << 20))",
          limits=Limits(memory_mb=64, disk_mb=64), id="A8"),
    Probe("fill_work", JailStatus.disk, "open('/work/x', 'wb').write(b'x' * (9 << 20))", id="B1"),
    Probe("fill_shm", JailStatus.disk, "open('/dev/shm/x', 'wb').write(b'x' * (9 << 20))", id="B1"),
    Probe("fill_inodes", JailStatus.disk, "for n in range(999): open(f'/tmp/{n}', 'w').close()", id="B2"),
    Probe("huge_file", JailStatus.disk, command=("truncate", "-s", "1T", "/work/x"), id="B4"),
    Probe("stdout_flood", JailStatus.output, command=("yes",), id="D1"),
    Probe("stderr_flood", JailStatus.output, command=("sh", "-c", "exec yes >&2"), id="D2"),
    Probe("endless_line", JailStatus.output, "while True: sys.stdout.write('x' * 4096)", id="D3"),
    Probe("sleep", JailStatus.timeout_wall, command=("sleep", "60"), limits=IMPATIENT, id="A16"),
    Probe("cpu_burn", JailStatus.timeout_cpu, "while True: pass", limits=HASTY, id="A15"),
    Probe("cpu_burn_many", JailStatus.timeout_cpu, "for _ in range(3): os.fork()\nwhile True: pass",
          limits=HASTY, id="A15"),
    Probe("stop_self", JailStatus.timeout_wall, "os.kill(os.getpid(), 19)", limits=IMPATIENT, id="A18"),
    Probe("stop_all", JailStatus.timeout_wall, "os.kill(1, 19); os.kill(0, 19)", limits=IMPATIENT,
          id="A18", also=("D11",)),
    Probe("daemon", JailStatus.ok, "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
          "        while True: pass\n    os._exit(0)", id="A22", also=("A21",)),
    Probe("not_found", JailStatus.denied, command=("no-such-program",), id="D15"),
    Probe("not_executable", JailStatus.denied, command=("/etc/passwd",), id="D15"),
    Probe("foreign_call", JailStatus.denied, "import mmap\ncode = mmap.mmap(-1, 4096, prot=7)\n"
          "code.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))\n"
          "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()", id="D15"),
    Probe("abort", JailStatus.signal, "os.abort()", id="D15", also=("C28",)),
)  # fmt: skip

PRYING: tuple[Probe, ...] = (
    Probe("namespaces", JailStatus.ok, """
for bit in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
    shut(f"unshare {bit:#x}", lambda: call(272, bit), errno.EPERM)
    shut(f"clone {bit:#x}", lambda: call(56, bit | 17, 0, 0, 0, 0), errno.EPERM)
shut("clone3", lambda: call(435, 0, 0), errno.ENOSYS)
shut("setns", lambda: call(308, os.open("/proc/self/ns/user", 0), 0), errno.EPERM)
verdict()""", id="C1", also=("C2", "C3")),
    Probe("mounts", JailStatus.ok, """
shut("mount", lambda: call(165, b"none", b"/work", b"tmpfs", 0, 0), errno.EPERM)
shut("remount", lambda: call(165, b"none", b"/", None, 32 | 4096, None), errno.EPERM)
for number in (155, 161, 166, 428, 429, 430, 442):
    shut(f"call {number}", lambda: call(number, b"/work", b"/work", 0, 0, 0), errno.EPERM)
for path in ("/x", "/usr/bin/x", "/etc/passwd", "/job/x", "/job/probe.py", "/dev/x", "/proc/sys/kernel/hostname",
             "/proc/self/oom_score_adj"):
    shut(f"write {path}", lambda: open(path, "w"), errno.EROFS, errno.EACCES)
shut("mknod", lambda: os.mknod("/work/disk", 0o60600, os.makedev(8, 0)), errno.EPERM)
verdict()""", id="C4", also=("B14", "B25", "C19")),
    Probe("init", JailStatus.ok, """
for pid in (1, os.getppid()):
    shut("ptrace", lambda: call(101, 16, pid, 0, 0), errno.EPERM)
    shut("read memory", lambda: call(310, pid, 0, 0, 0, 0, 0), errno.EPERM)
    shut("limits", lambda: __import__("resource").prlimit(pid, 0, (0, 0)), errno.EPERM)
for name in ("mem", "environ", "fd", "cwd", "exe", "maps", "ns/pid"):
    shut(f"/proc/1/{name}", lambda: open(f"/proc/1/{name}", "rb").read(1), errno.EACCES, errno.EISDIR)
    shut(f"/proc/1/{name}", lambda: os.readlink(f"/proc/1/{name}"), errno.EACCES, errno.EINVAL)
shut("descriptors", lambda: os.listdir("/proc/1/fd"), errno.EACCES)
from glob import glob
for path in glob("/.jail/python*") + glob(sys.base_prefix + "/bin/.jail*"):
    shut(f"read {path}", lambda: open(path, "rb"), errno.EACCES)
os.kill(1, 9); os.kill(1, 15); os.kill(1, 2)
verdict()""", id="C6", also=("C21", "D12")),
    Probe("kernel", JailStatus.ok, """
for number in (101, 103, 134, 135, 139, 163, 164, 167, 169, 173, 175, 179, 246, 248, 249, 250, 298, 304, 310, 312, 321,
               323, 425, 438, 447):
    shut(f"call {number}", lambda: call(number, 0, 0, 0, 0, 0), errno.EPERM)
shut("x32", lambda: call(0x40000000 + 39), errno.ENOSYS)
shut("clock", lambda: __import__("time").clock_settime(0, 0), errno.EPERM)
shut("priority", lambda: os.nice(-1), errno.EPERM, errno.EACCES)
shut("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)), errno.EPERM)
shut("file size", lambda: call(160, 1, ctypes.byref((ctypes.c_ulong * 2)(-1, -1))), errno.EPERM)
verdict()""", id="C10", also=("C8", "C9", "C20", "C27", "D18")),
    Probe("identity", JailStatus.ok, """
for number in (0, 1, 65534):
    shut(f"setuid {number}", lambda: os.setuid(number), errno.EPERM, errno.EINVAL)
    shut(f"setgid {number}", lambda: os.setgid(number), errno.EPERM, errno.EINVAL)
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    if int(status[name], 16):
        allowed.append(name)
if status["NoNewPrivs"].strip() != "1" or status["Seccomp"].strip() != "2":
    allowed.append("no_new_privs or seccomp is off")
verdict()""", id="C18", also=("C17",)),
    Probe("network", JailStatus.ok, """
for family, address in ((2, ("127.0.0.1", 22)), (2, ("192.0.2.1", 53)), (10, ("::1", 22)), (1, "\\0canary")):
    shut(f"connect {address}", lambda: socket.socket(family).connect(address), errno.ECONNREFUSED, errno.ENETUNREACH)
for family in (17, 31, 38, 40, 44):
    shut(f"family {family}", lambda: socket.socket(family, 3), errno.EAFNOSUPPORT)
names = [name for _, name in socket.if_nameindex()]
if names != ["lo"]:
    allowed.append(f"interfaces {names}")
verdict()""", id="C11", also=("C12", "C13", "C16")),
    Probe("host", JailStatus.ok, f"""
canary = os.environ.get("{CANARY}", "/etc/shadow")
os.symlink(canary, "/work/link")
for path in (canary, "/work/link", "/etc/shadow", "/sys/kernel", "/run/user", "/home", "/var/lib", "/dev/vda",
             "/dev/kmsg", "/sys/fs/cgroup", "/proc/1/root" + canary, "/proc/kcore"):
    shut(f"read {{path}}", lambda: os.listdir(path) if os.path.isdir(path) else open(path, "rb"))
pids = [name for name in os.listdir("/proc") if name.isdigit()]
if len(pids) > 2:
    allowed.append(f"processes {{pids}}")
shut("signal", lambda: os.kill(os.getpid() + 1, 0), errno.ESRCH)
verdict()""", id="C20", also=("C14", "C22")),
    Probe("inheritance", JailStatus.ok, f"""
opened = [fd for fd in range(3, 1024) if os.path.exists(f"/proc/self/fd/{{fd}}")]
if opened:
    allowed.append(f"descriptors {{opened}}")
known = {{"HOME", "LANG", "TMPDIR", "PYTHONDONTWRITEBYTECODE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH",
         "{CANARY}", "LC_CTYPE"}}
allowed.extend(name for name in os.environ.keys() - known if not name.startswith("{CANARY}_"))
verdict()""", id="B30", also=("D17",)),
    Probe("forgery", JailStatus.exit, """
for fd in range(1, 1024):
    try:
        os.write(fd, b"S\\nX 0 0 0\\n[I] exited with status: 0\\n")
    except OSError:
        pass
os._exit(3)""", id="D10", also=("D8",)),
    Probe("massacre", JailStatus.ok, "if sum(name.isdigit() for name in os.listdir('/proc')) > 9:\n"
          "    sys.exit('more than its own processes')\n"
          "os.fork() or __import__('time').sleep(9)\nos.kill(-1, 9)\nos.wait()\nverdict()",
          id="D11"),
)  # fmt: skip

PROBES: tuple[Probe, ...] = GREEDY + PRYING
