"""Attacks on what a jail may use: processes, memory, time, disk. Sections A and B of the catalogue."""

from __future__ import annotations

from appliance.sandbox.ending import JailStatus
from appliance.sandbox.policy import Limits
from appliance.sandbox.probes import CANARY_PID, HASTY, IMPATIENT, Probe

FEW = Limits(pids=16)

TAKING: tuple[Probe, ...] = (
    Probe("spawn_storm", JailStatus.processes,
          "while True: os.posix_spawn('/bin/sleep', ['sleep', '9'], {})", limits=FEW, id="A5"),
    Probe("vfork_chain", JailStatus.processes, "while True: call(56, 0x4000 | 17, 0, 0, 0, 0)", id="A5",
          limits=Limits(pids=16, wall_s=1),
          needs=("x86-64",)),
    Probe("memory_in_shm", JailStatus.memory, """
for n in range(8):
    with open(f"/dev/shm/appliance-probe-{n}", "wb") as file:
        file.write(b"x" * (7 << 20))
import mmap
hoard = mmap.mmap(-1, 40 << 20)
for place in range(0, 40 << 20, 4096):
    hoard[place] = 1""", limits=Limits(memory_mb=64, disk_mb=64), id="A8"),
    Probe("memory_in_memfd", JailStatus.memory, """
fds = [os.memfd_create("x") for _ in range(40)]
for fd in fds:
    os.write(fd, b"x" * (7 << 20))""", limits=Limits(memory_mb=64, disk_mb=64), id="A8"),
    Probe("thrash", JailStatus.timeout_wall, """
hoard = b"x" * (50 << 20)
while True:
    for folder, _, names in os.walk("/usr/lib"):
        for name in names:
            try:
                with open(os.path.join(folder, name), "rb", buffering=0) as file:
                    while file.read(1 << 18): pass
            except OSError:
                pass""", limits=Limits(memory_mb=96, pids=16, cpu_s=9, wall_s=1), id="A13"),
    Probe("swap_dodge", JailStatus.memory, """
import mmap
hoard = []
while True:
    hoard.append(mmap.mmap(-1, 1 << 20))
    hoard[-1].write(b"x" * (1 << 20))
    libc.madvise(ctypes.addressof(ctypes.c_char.from_buffer(hoard[-1])), 1 << 20, 21)""", id="A14",
          needs=("swap",)),
    Probe("blocked_in_vfork", JailStatus.timeout_wall, """
if libc.syscall(56, 0x4000 | 17, 0, 0, 0, 0) == 0:
    __import__("time").sleep(60)""", limits=IMPATIENT, id="A17", needs=("x86-64",)),
    Probe("stop_group", JailStatus.timeout_wall, "os.fork()\nos.fork()\nos.kill(0, 19)", limits=IMPATIENT, id="A18"),
    Probe("grandchild_burns", JailStatus.ok, "if os.fork() == 0:\n    os.fork()\n    while True: pass\nos._exit(0)",
          id="A21"),
    Probe("renamed_burn", JailStatus.timeout_cpu, """
for name in (b"nsjail", b"kworker/0:1", b"init.py"):
    if os.fork() == 0:
        break
libc.prctl(15, name, 0, 0, 0)
libc.prctl(4, 0, 0, 0, 0)
while True: pass""", limits=HASTY, id="A23"),
    Probe("fill_tmp", JailStatus.disk, command=("sh", "-c", "exec cat /dev/zero > /tmp/x"), id="B1"),
    Probe("fill_inodes_with_links", JailStatus.disk, "for n in range(999): os.symlink('x', f'/work/{n}')", id="B2"),
    Probe("fill_inodes_with_folders", JailStatus.disk, "for n in range(999): os.mkdir(f'/dev/shm/{n}')", id="B2"),
    Probe("one_huge_file", JailStatus.disk, command=("sh", "-c", "exec head -c 64M /dev/zero > /work/x"), id="B3"),
)  # fmt: skip
"""Each runs into a limit, or ends while something of it would go on."""

REFUSED: tuple[Probe, ...] = (
    Probe("lock_memory", JailStatus.ok, """
room = ctypes.create_string_buffer(16 << 20)
shut("mlock", lambda: call(149, room, 16 << 20), errno.ENOMEM, errno.EPERM)
shut("mlockall", lambda: call(151, 3), errno.ENOMEM, errno.EPERM)
verdict()""", id="A11", needs=("x86-64",)),
    Probe("oom_score", JailStatus.ok, """
for value in ("-1000", "-1"):
    for path in ("/proc/self/oom_score_adj", "/proc/self/oom_adj", "/proc/1/oom_score_adj"):
        def write():
            with open(path, "w") as file:
                file.write(value)
        shut(f"{path} {value}", write, errno.EROFS, errno.EACCES, errno.EPERM)
verdict()""", id="A12"),
    Probe("scheduling", JailStatus.ok, """
shut("nice", lambda: os.setpriority(os.PRIO_PROCESS, 0, -5), errno.EPERM, errno.EACCES)
for policy in (os.SCHED_FIFO, os.SCHED_RR):
    shut(f"policy {policy}", lambda: os.sched_setscheduler(0, policy, os.sched_param(1)), errno.EPERM)
deadline = (ctypes.c_ulonglong * 6)(48 | 6 << 32, 0, 0, 10**7, 2 * 10**7, 2 * 10**7)
shut("deadline", lambda: call(314, 0, deadline, 0), errno.EPERM, errno.EBUSY)
shut("real-time disk", lambda: call(251, 1, 0, 1 << 13), errno.EPERM)
before = os.sched_getaffinity(0)
try:
    os.sched_setaffinity(0, range(1024))
except OSError:
    pass
if os.sched_getaffinity(0) - before:
    allowed.append("more processors")
verdict()""", id="A19", needs=("x86-64",)),
    Probe("signal_flood", JailStatus.ok, f"""
import signal
for number in range(1, 65):
    for _ in range(50):
        try:
            os.kill(1, number)
        except OSError:
            pass
mine = {{int(name) for name in os.listdir("/proc") if name.isdigit()}}
for pid in set(range(2, 3000)) - mine:
    shut(f"signal {{pid}}", lambda: os.kill(pid, 0), errno.ESRCH)
shut("kill the canary", lambda: os.kill(int(os.environ.get("{CANARY_PID}", "2000000")), 9), errno.ESRCH)
signal.signal(signal.SIGALRM, signal.SIG_IGN)
for _ in range(64):
    signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
verdict()""", id="A20"),
    Probe("daemon_renames_itself", JailStatus.ok, """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        libc.prctl(15, b"systemd", 0, 0, 0)
        libc.prctl(1, 0, 0, 0, 0)
        for number in range(1, 32):
            try:
                __import__("signal").signal(number, 1)
            except OSError:
                pass
        __import__("time").sleep(60)
    os._exit(0)
os.wait()
verdict()""", id="A22"),
    Probe("reserve", JailStatus.ok, """
for path in ("/work/x", "/tmp/x", "/dev/shm/x"):
    with open(path, "wb") as file:
        shut(f"fallocate {path}", lambda: os.posix_fallocate(file.fileno(), 0, 64 << 20), errno.ENOSPC, errno.EFBIG)
        shut(f"truncate {path}", lambda: file.truncate(64 << 20), errno.EFBIG)
    os.unlink(path)
verdict()""", id="B5"),
    Probe("job_is_fixed", JailStatus.ok, """
os.symlink("/job", "/work/job")
for folder in ("/job", "/work/job"):
    shut("unlink", lambda: os.unlink(f"{folder}/probe.py"), errno.EROFS)
    shut("rename", lambda: os.rename(f"{folder}/probe.py", f"{folder}/x"), errno.EROFS)
    shut("link", lambda: os.symlink("/etc/passwd", f"{folder}/x"), errno.EROFS)
    shut("mode", lambda: os.chmod(f"{folder}/probe.py", 0o777), errno.EROFS, errno.EPERM)
    shut("owner", lambda: os.chown(f"{folder}/probe.py", 1000, 1000), errno.EROFS, errno.EPERM)
verdict()""", id="B11"),
    Probe("hard_links", JailStatus.ok, """
for path in ("/etc/passwd", "/job/probe.py", "/usr/bin/env", "/usr/bin/su", "/dev/null", "/proc/1/exe"):
    for target in ("/work/x", "/tmp/x", "/dev/shm/x"):
        shut(f"link {path}", lambda: os.link(path, target), errno.EXDEV, errno.EPERM, errno.ENOENT, errno.EACCES)
verdict()""", id="B12"),
    Probe("devices", JailStatus.ok, """
for kind, major, minor in ((0o60600, 8, 0), (0o20600, 1, 1), (0o20600, 10, 200), (0o20600, 5, 1)):
    shut("mknod", lambda: os.mknod("/work/x", kind, os.makedev(major, minor)), errno.EPERM)
known = {"null", "zero", "full", "random", "urandom", "fd", "stdin", "stdout", "stderr", "shm"}
allowed.extend(f"/dev/{name}" for name in set(os.listdir("/dev")) - known)
verdict()""", id="B14"),
    Probe("image_is_read_only", JailStatus.ok, """
import itertools
folders = ["/", "/usr/bin", "/usr/lib", "/etc", "/dev", "/proc", "/job", "/.jail", sys.base_prefix, *sys.path[1:]]
for folder in filter(os.path.isdir, folders):
    shut(f"write in {folder}", lambda: open(f"{folder}/appliance-probe", "w"), errno.EROFS, errno.EACCES,
         errno.ENOENT)
    shut(f"touch {folder}", lambda: os.utime(folder), errno.EROFS, errno.EACCES, errno.EPERM)
for flags in (32 | 4096, 32, 4096 | 16384):
    shut("remount", lambda: call(165, b"/usr", b"/usr", None, flags, None), errno.EPERM)
verdict()""", id="B25"),
    Probe("caches", JailStatus.ok, """
import importlib.util, json, py_compile
if not sys.dont_write_bytecode:
    allowed.append("bytecode is written")
for module in (os, json):
    cached = importlib.util.cache_from_source(module.__file__)
    shut(f"compile {module.__file__}", lambda: py_compile.compile(module.__file__, doraise=True), errno.EROFS,
         errno.EACCES)
    shut(f"write {cached}", lambda: open(cached, "r+b"), errno.EROFS, errno.EACCES, errno.ENOENT)
verdict()""", id="B26"),
)  # fmt: skip
"""Each tries to get round a limit or to change what others will read."""
