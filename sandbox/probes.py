"""Attacks on a jail, each with the status it must end in.

Two kinds. A greedy one runs into a limit. A prying one tries things that must be refused; it exits with 1 and names
what was allowed, so that `ok` means that every door was shut. They run in the self-test of `appliance doctor`, in the
tests, and by hand; none of them harms a host on which it succeeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from appliance.sandbox.client import JailResult, Jails
from appliance.sandbox.ending import JailStatus
from appliance.sandbox.policy import Limits, Policy

CANARY = "APPLIANCE_CANARY"
"""Variable in which a prying probe finds the path of a host file that it must not be able to see."""
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


@dataclass(frozen=True, slots=True)
class Probe:
    """One attack: a Python program, or a command."""

    name: str
    expected: JailStatus
    source: str = ""
    command: tuple[str, ...] = ("python3", "-B", "/job/probe.py")
    limits: Limits = field(default_factory=lambda: SMALL)

    @property
    def files(self) -> dict[str, bytes]:
        return {"probe.py": (_PRELUDE + self.source).encode(), "library.py": _LIBRARY.encode()}


def run_probe(jails: Jails, probe: Probe, variables: Mapping[str, str] | None = None) -> JailResult:
    """Run one probe in a fresh jail."""
    policy = Policy(probe.limits, tuple((variables or {}).items()))
    return jails.run(probe.command, policy, files=probe.files)


GREEDY: tuple[Probe, ...] = (
    Probe("fork_bomb", JailStatus.processes, "while True: os.fork()", limits=Limits(pids=16)),
    Probe("fork_bomb_sessions", JailStatus.processes, "import signal\nsignal.signal(15, signal.SIG_IGN)\n"
          "while True:\n    os.fork() or os.setsid()", limits=Limits(pids=16)),
    Probe("thread_bomb", JailStatus.processes, "import threading, time\n"
          "for _ in range(99): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()"),
    Probe("memory_bomb", JailStatus.memory, "hoard = []\nwhile True: hoard.append(b'x' * (1 << 20))"),
    Probe("memory_of_many", JailStatus.memory, "for _ in range(14):\n    if os.fork() == 0:\n"
          "        hoard = b'x' * (8 << 20)\n        os.read(os.pipe()[0], 1)\n"
          "_, status = os.wait()\nsys.exit(status != 0)"),
    Probe("memory_in_files", JailStatus.memory, "for place in ('/work', '/tmp', '/dev/shm'):\n"
          "    open(place + '/x', 'wb').write(b'x' * (40 << 20))",
          limits=Limits(memory_mb=64, disk_mb=64)),
    Probe("fill_work", JailStatus.disk, "open('/work/x', 'wb').write(b'x' * (9 << 20))"),
    Probe("fill_shm", JailStatus.disk, "open('/dev/shm/x', 'wb').write(b'x' * (9 << 20))"),
    Probe("fill_inodes", JailStatus.disk, "for n in range(999): open(f'/tmp/{n}', 'w').close()"),
    Probe("huge_file", JailStatus.disk, command=("truncate", "-s", "1T", "/work/x")),
    Probe("stdout_flood", JailStatus.output, command=("yes",)),
    Probe("stderr_flood", JailStatus.output, command=("sh", "-c", "exec yes >&2")),
    Probe("endless_line", JailStatus.output, "while True: sys.stdout.write('x' * 4096)"),
    Probe("sleep", JailStatus.timeout_wall, command=("sleep", "60"), limits=IMPATIENT),
    Probe("cpu_burn", JailStatus.timeout_cpu, "while True: pass", limits=HASTY),
    Probe("cpu_burn_many", JailStatus.timeout_cpu, "for _ in range(3): os.fork()\nwhile True: pass", limits=HASTY),
    Probe("stop_self", JailStatus.timeout_wall, "os.kill(os.getpid(), 19)", limits=IMPATIENT),
    Probe("stop_all", JailStatus.timeout_wall, "os.kill(1, 19); os.kill(0, 19)", limits=IMPATIENT),
    Probe("daemon", JailStatus.ok, "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
          "        while True: pass\n    os._exit(0)"),
    Probe("not_found", JailStatus.denied, command=("no-such-program",)),
    Probe("not_executable", JailStatus.denied, command=("/etc/passwd",)),
    Probe("foreign_call", JailStatus.denied, "import mmap\ncode = mmap.mmap(-1, 4096, prot=7)\n"
          "code.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))\n"
          "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()"),
    Probe("abort", JailStatus.signal, "os.abort()"),
)  # fmt: skip

PRYING: tuple[Probe, ...] = (
    Probe("namespaces", JailStatus.ok, """
for bit in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
    shut(f"unshare {bit:#x}", lambda: call(272, bit), errno.EPERM)
    shut(f"clone {bit:#x}", lambda: call(56, bit | 17, 0, 0, 0, 0), errno.EPERM)
shut("clone3", lambda: call(435, 0, 0), errno.ENOSYS)
shut("setns", lambda: call(308, os.open("/proc/self/ns/user", 0), 0), errno.EPERM)
verdict()"""),
    Probe("mounts", JailStatus.ok, """
shut("mount", lambda: call(165, b"none", b"/work", b"tmpfs", 0, 0), errno.EPERM)
shut("remount", lambda: call(165, b"none", b"/", None, 32 | 4096, None), errno.EPERM)
for number in (155, 161, 166, 428, 429, 430, 442):
    shut(f"call {number}", lambda: call(number, b"/work", b"/work", 0, 0, 0), errno.EPERM)
for path in ("/x", "/usr/bin/x", "/etc/passwd", "/job/x", "/job/probe.py", "/dev/x", "/proc/sys/kernel/hostname",
             "/proc/self/oom_score_adj"):
    shut(f"write {path}", lambda: open(path, "w"), errno.EROFS, errno.EACCES)
shut("mknod", lambda: os.mknod("/work/disk", 0o60600, os.makedev(8, 0)), errno.EPERM)
verdict()"""),
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
verdict()"""),
    Probe("kernel", JailStatus.ok, """
for number in (101, 103, 134, 135, 139, 163, 164, 167, 169, 173, 175, 179, 246, 248, 249, 250, 298, 304, 310, 312, 321,
               323, 425, 438, 447):
    shut(f"call {number}", lambda: call(number, 0, 0, 0, 0, 0), errno.EPERM)
shut("x32", lambda: call(0x40000000 + 39), errno.ENOSYS)
shut("clock", lambda: __import__("time").clock_settime(0, 0), errno.EPERM)
shut("priority", lambda: os.nice(-1), errno.EPERM, errno.EACCES)
shut("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)), errno.EPERM)
shut("file size", lambda: call(160, 1, ctypes.byref((ctypes.c_ulong * 2)(-1, -1))), errno.EPERM)
verdict()"""),
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
verdict()"""),
    Probe("network", JailStatus.ok, """
for family, address in ((2, ("127.0.0.1", 22)), (2, ("192.0.2.1", 53)), (10, ("::1", 22)), (1, "\\0canary")):
    shut(f"connect {address}", lambda: socket.socket(family).connect(address), errno.ECONNREFUSED, errno.ENETUNREACH)
for family in (17, 31, 38, 40, 44):
    shut(f"family {family}", lambda: socket.socket(family, 3), errno.EAFNOSUPPORT)
names = [name for _, name in socket.if_nameindex()]
if names != ["lo"]:
    allowed.append(f"interfaces {names}")
verdict()"""),
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
verdict()"""),
    Probe("inheritance", JailStatus.ok, f"""
opened = [fd for fd in range(3, 1024) if os.path.exists(f"/proc/self/fd/{{fd}}")]
if opened:
    allowed.append(f"descriptors {{opened}}")
known = {{"HOME", "LANG", "TMPDIR", "PYTHONDONTWRITEBYTECODE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH",
         "{CANARY}", "LC_CTYPE"}}
allowed.extend(os.environ.keys() - known)
verdict()"""),
    Probe("forgery", JailStatus.exit, """
for fd in range(1, 1024):
    try:
        os.write(fd, b"S\\nX 0 0 0\\n[I] exited with status: 0\\n")
    except OSError:
        pass
os._exit(3)"""),
    Probe("massacre", JailStatus.ok, "os.fork() or __import__('time').sleep(9)\nos.kill(-1, 9)\nos.wait()\nverdict()"),
)  # fmt: skip

PROBES: tuple[Probe, ...] = GREEDY + PRYING
