"""Attacks on the kernel's interfaces and on the walls between jail and host. Section C of the catalogue.

Numbers of system calls are x86-64's; where they belong to another architecture the probe is skipped.
"""

from __future__ import annotations

from appliance.sandbox.ending import JailStatus
from appliance.sandbox.probes import CANARY, CANARY_PID, CANARY_PORT, CANARY_SOCKET, Probe

_X86 = ("x86-64",)


def _prying(name: str, id: str, source: str, *also: str, needs: tuple[str, ...] = ()) -> Probe:
    return Probe(name, JailStatus.ok, f"{source.strip()}\nverdict()", id=id, also=also, needs=needs)


KERNEL: tuple[Probe, ...] = (
    _prying("nested_namespaces", "C1", """
import subprocess
for options in (["-U"], ["-Ur", "mount", "-t", "tmpfs", "x", "/tmp"], ["-n"], ["-m"], ["-p", "-f"], ["-C"]):
    done = subprocess.run(["unshare", *options, *([] if len(options) > 2 else ["true"])], capture_output=True)
    if done.returncode == 0:
        allowed.append(f"unshare {options}")
    elif not done.stderr.strip():
        allowed.append(f"unshare {options} fails without a word")
""", "C30", "C23"),
    _prying("clone_flags", "C2", """
for bit in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
    shut(f"clone {bit:#x}", lambda: call(56, bit | 17, 0, 0, 0, 0), errno.EPERM)
    arguments = (ctypes.c_ulonglong * 11)(bit, 0, 0, 0, 17)
    for size in (64, 88):
        shut(f"clone3 {bit:#x}", lambda: call(435, arguments, size), errno.ENOSYS)
""", needs=_X86),
    _prying("setns", "C3", f"""
for name in os.listdir("/proc/self/ns"):
    for pid in ("self", "1", os.environ.get("{CANARY_PID}", "1")):
        def join():
            fd = os.open(f"/proc/{{pid}}/ns/{{name}}", os.O_RDONLY)
            call(308, fd, 0)
        shut(f"setns {{pid}} {{name}}", join, errno.EPERM, errno.EACCES, errno.ENOENT)
pidfd = os.pidfd_open(os.getpid())
shut("setns pidfd", lambda: call(308, pidfd, 0x20000), errno.EPERM)
shut("pidfd_getfd", lambda: call(438, os.pidfd_open(1), 0, 0), errno.EPERM)
""", needs=_X86),
    _prying("mount_family", "C4", """
for number in (155, 165, 166, 428, 429, 430, 431, 432, 433, 442, 457, 458, 467):
    shut(f"call {number}", lambda: call(number, b"/work", b"/work", b"tmpfs", 0, 0), errno.EPERM)
""", needs=_X86),
    _prying("chroot", "C5", """
shut("chroot", lambda: os.chroot("/work"), errno.EPERM)
root = os.stat("/")
here = os.open("/", os.O_PATH)
for _ in range(64):
    here = os.open("..", os.O_PATH, dir_fd=here)
os.chdir("/".join([".."] * 64))
for found in (os.stat("."), os.fstat(here), os.stat("/proc/self/root/..")):
    if (found.st_dev, found.st_ino) != (root.st_dev, root.st_ino):
        allowed.append("another root")
for fd in os.listdir("/proc/self/fd"):
    try:
        place = os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        continue
    if os.path.isdir(place) and int(fd) < 3:
        allowed.append(f"descriptor {fd} is a folder: {place}")
"""),
    _prying("other_processes", "C6", f"""
host = int(os.environ.get("{CANARY_PID}", "2000000"))
for pid in (1, os.getppid(), host):
    for request in (16, 0x4206):
        shut(f"ptrace {{pid}}", lambda: call(101, request, pid, 0, 0), errno.EPERM, errno.ESRCH)
    shut(f"write memory of {{pid}}", lambda: call(311, pid, 0, 0, 0, 0, 0), errno.EPERM)
    shut(f"limits of {{pid}}", lambda: call(302, pid, 7, 0, 0), errno.EPERM, errno.ESRCH)
    for name in ("mem", "auxv", "environ", "maps", "stack", "syscall", "task"):
        shut(f"/proc/{{pid}}/{{name}}", lambda: open(f"/proc/{{pid}}/{{name}}", "rb").read(8), errno.EACCES,
             errno.ENOENT, errno.EPERM, errno.EISDIR)
""", needs=_X86),
    _prying("keyrings", "C8", """
for number in (248, 249, 250):
    for ring in range(-8, 0):
        shut(f"call {number}", lambda: call(number, b"user", b"appliance-probe", b"x", 1, ring), errno.EPERM)
shut("link keyrings", lambda: call(250, 8, -4, -3), errno.EPERM)
""", needs=_X86),
    _prying("io_uring", "C9", """
room = ctypes.create_string_buffer(256)
shut("setup", lambda: call(425, 4, room), errno.EPERM)
shut("enter", lambda: call(426, 0, 1, 1, 0, None, 0), errno.EPERM)
shut("register", lambda: call(427, 0, 0, room, 1), errno.EPERM)
""", needs=_X86),
    _prying("introspection", "C10", """
room = ctypes.create_string_buffer(256)
for number, arguments in ((321, (0, room, 72)), (298, (room, 0, -1, -1, 0)), (323, (1,)), (323, (0,)),
                          (303, (-100, b"/", room, room, 0)), (304, (-100, room)), (312, (1, 1, 0, 0, 0)),
                          (300, (0, 0)), (246, (0, 0))):
    shut(f"call {number}", lambda: call(number, *arguments), errno.EPERM)
""", needs=_X86),
    _prying("socket_families", "C11", """
for family in range(3, 46):
    if family not in (10, 16):
        for kind in (1, 2, 3, 5):
            shut(f"family {family}", lambda: socket.socket(family, kind), errno.EAFNOSUPPORT)
for family in (2, 10):
    shut(f"raw {family}", lambda: socket.socket(family, 3, 1), errno.EPERM, errno.EACCES)
shut("pair", lambda: socket.socketpair(40, 1), errno.EAFNOSUPPORT, errno.EOPNOTSUPP)
"""),
    _prying("host_sockets", "C12", f"""
name = os.environ.get("{CANARY_SOCKET}", "canary")
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    for prefix in (name, "/tmp/.X11-unix/X0", "/run/systemd/journal/socket"):
        shut(f"abstract {{prefix}}", lambda: socket.socket(1, kind).connect("\\0" + prefix), errno.ECONNREFUSED)
listed = open("/proc/net/unix").read().splitlines()[1:]
if listed:
    allowed.append(f"sockets {{listed[:3]}}")
"""),
    _prying("loopback_service", "C13", f"""
port = int(os.environ.get("{CANARY_PORT}", "22"))
for host in ("127.0.0.1", "127.0.0.2", "0.0.0.0", "localhost"):
    shut(f"connect {{host}}", lambda: socket.create_connection((host, port), 2).close(), errno.ECONNREFUSED)
for family, host in ((2, "127.0.0.1"), (10, "::1")):
    datagram = socket.socket(family, socket.SOCK_DGRAM)
    datagram.settimeout(0.05)
    datagram.connect((host, port))
    shut(f"datagram {{host}}", lambda: (datagram.send(b"x"), datagram.recv(1)), errno.ECONNREFUSED)
"""),
    _prying("socket_files", "C14", """
for path in ("/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/systemd/private",
             "/run/dbus/system_bus_socket", "/tmp/.X11-unix", "/run/user", "/run/podman", "/dev/log"):
    if os.path.lexists(path):
        allowed.append(path)
for name in ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "DOCKER_HOST", "XDG_RUNTIME_DIR"):
    if name in os.environ:
        allowed.append(name)
"""),
    _prying("interfaces", "C15", """
import fcntl, struct
plain = socket.socket(2, socket.SOCK_DGRAM)
request = b"lo".ljust(40, b"\\0")
for name, get, put in (("flags", 0x8913, 0x8914), ("address", 0x8915, 0x8916), ("mtu", 0x8921, 0x8922)):
    # What it has already: nothing changes where this is allowed.
    same = fcntl.ioctl(plain, get, request)
    shut(name, lambda: fcntl.ioctl(plain, put, same), errno.EPERM)
shut("route", lambda: fcntl.ioctl(plain, 0x890B, bytes(128)), errno.EPERM)
shut("tun", lambda: open("/dev/net/tun"), errno.ENOENT)
netlink = socket.socket(16, socket.SOCK_RAW, 0)
netlink.bind((0, 0))
body = struct.pack("=BBHiII", 0, 0, 0, 0, 0, 0)
netlink.send(struct.pack("=IHHII", 16 + len(body), 16, 5, 1, 0) + body)
answer = netlink.recv(4096)
if struct.unpack_from("=i", answer, 16)[0] != -errno.EPERM:
    allowed.append("a new interface")
"""),
    _prying("unreachable", "C16", """
import time
started = time.monotonic()
for family, address in ((2, ("169.254.169.254", 80)), (2, ("192.0.2.1", 53)), (2, ("10.0.0.1", 22)),
                        (10, ("fe80::1", 80, 0, 1)), (10, ("2001:db8::1", 80))):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        shut(f"connect {address}", lambda: socket.socket(family, kind).connect(address), errno.ENETUNREACH,
             errno.EADDRNOTAVAIL, errno.EHOSTUNREACH, errno.EINVAL, errno.ECONNREFUSED)
for name in ("example.com", "metadata.google.internal", "localhost.localdomain"):
    shut(f"resolve {name}", lambda: socket.getaddrinfo(name, 80))
took = time.monotonic() - started
if took > 3:
    allowed.append(f"refused only after {took:.1f} s")
"""),
    _prying("setuid_programs", "C17", """
import stat, subprocess
nothing = subprocess.DEVNULL
found = []
for folder in ("/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec"):
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            try:
                mode = os.lstat(path).st_mode
            except OSError:
                continue
            if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                found.append(path)
        if folder == "/usr/lib" and place.count("/") > 3:
            break
for path in found[:12]:
    with subprocess.Popen([path], stdin=nothing, stdout=nothing, stderr=nothing) as child:
        status = dict(line.split(":", 1) for line in open(f"/proc/{child.pid}/status").read().splitlines())
        child.kill()
    if set(status["Uid"].split()) | set(status["Gid"].split()) != {"1000"} or int(status["CapEff"], 16):
        allowed.append(f"{path} {status['Uid']} {status['CapEff']}")
os.close(os.open("/work/own", os.O_CREAT | os.O_WRONLY))
os.chmod("/work/own", 0o6755)
capabilities = bytes.fromhex("0100000200200000000000000000000000000000")
shut("file capabilities", lambda: os.setxattr("/work/own", "security.capability", capabilities), errno.EPERM,
     errno.EINVAL, errno.ENOTSUP)
"""),
    _prying("other_ids", "C18", """
for number in (0, 1, 999, 1001, 65534):
    for change in (os.setuid, os.setgid, os.seteuid, os.setegid):
        shut(f"{change.__name__} {number}", lambda: change(number), errno.EPERM, errno.EINVAL)
    open("/work/x", "w").close()
    shut(f"chown {number}", lambda: os.chown("/work/x", number, number), errno.EPERM, errno.EINVAL)
shut("groups", lambda: os.setgroups([0]), errno.EPERM)
for name in ("uid_map", "gid_map", "setgroups"):
    shut(name, lambda: open(f"/proc/self/{name}", "w").write("0 0 1"), errno.EPERM, errno.EACCES, errno.EROFS)
"""),
    _prying("kernel_settings", "C19", """
for path in ("sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/vm/overcommit_memory", "sys/net/ipv4/ip_forward",
             "sys/kernel/hostname", "sys/user/max_user_namespaces", "sysrq-trigger", "self/attr/current",
             "self/attr/exec", "self/loginuid", "irq/default_smp_affinity"):
    shut(path, lambda: open(f"/proc/{path}", "r+b"), errno.EROFS, errno.EACCES, errno.ENOENT, errno.EPERM)
"""),
    _prying("kernel_secrets", "C20", f"""
room = ctypes.create_string_buffer(4096)
for kind in (2, 3, 10):
    shut(f"kernel log {{kind}}", lambda: call(103, kind, room, 4096), errno.EPERM)
shut("kmsg", lambda: open("/dev/kmsg"), errno.ENOENT)
shut("kcore", lambda: open("/proc/kcore", "rb").read(1), errno.EACCES, errno.EPERM, errno.ENOENT)
try:
    lines = [line.split() for line in open("/proc/kallsyms")][:2000]
except OSError:
    lines = []
if any(int(line[0], 16) for line in lines):
    allowed.append("addresses in kallsyms")
for name in ("environ", "cmdline", "status"):
    shut(name, lambda: open(f"/proc/{{os.environ.get('{CANARY_PID}', '2000000')}}/{{name}}"), errno.ENOENT)
"""),
    _prying("own_program", "C21", """
for path in ("/proc/self/exe", "/proc/1/exe", sys.executable):
    for mode in ("r+b", "wb"):
        shut(f"{mode} {path}", lambda: open(path, mode), errno.EROFS, errno.ETXTBSY, errno.EACCES, errno.ENOENT)
shut("where the launcher is", lambda: os.readlink("/proc/1/exe"), errno.EACCES)
for line in open("/proc/self/mountinfo"):
    if "nsjail" in line.split(" - ")[0].split()[4]:
        allowed.append("a mount of the launcher")
"""),
    _prying("cgroup_files", "C22", """
for line in open("/proc/self/cgroup"):
    if line.strip().split(":", 2)[2] != "/":
        allowed.append(f"cgroup {line.strip()}")
if any(" - cgroup" in line for line in open("/proc/self/mountinfo")):
    allowed.append("a cgroup file system")
for path in ("/sys/fs/cgroup", "/sys/fs/cgroup/cgroup.procs", "/sys"):
    if os.path.exists(path):
        allowed.append(path)
"""),
    _prying("argument_race", "C26", """
import threading, time
arguments = (ctypes.c_ulonglong * 11)(0, 0, 0, 0, 17)
running = True
def flip():
    while running:
        arguments[0] = 0x10000000
        arguments[0] = 0
other = threading.Thread(target=flip)
other.start()
until = time.monotonic() + 0.1
while time.monotonic() < until:
    shut("clone3", lambda: call(435, arguments, 88), errno.ENOSYS)
    shut("unshare", lambda: call(272, 0x10000000), errno.EPERM)
running = False
other.join()
allowed = sorted(set(allowed))
""", needs=_X86),
    _prying("personality", "C27", """
for value in (0x0040000, 0x0400000, 0x0080000, 0xffffffff, 8):
    shut(f"personality {value:#x}", lambda: call(135, value), errno.EPERM)
""", needs=_X86),
    _prying("core_dump", "C28", """
import resource
if resource.getrlimit(resource.RLIMIT_CORE) != (0, 0):
    allowed.append("core limit")
shut("raise the limit", lambda: call(160, 4, ctypes.byref((ctypes.c_ulong * 2)(-1, -1))), errno.EPERM)
if os.fork() == 0:
    os.abort()
_, status = os.wait()
if os.WCOREDUMP(status):
    allowed.append("a core was dumped")
allowed.extend(name for name in os.listdir("/work") if name.startswith("core"))
""", needs=_X86),
    _prying("sandbox_tools", "C30", """
import shutil, subprocess
for name in ("bwrap", "firejail", "docker", "podman", "nsenter", "unshare", "chroot"):
    path = shutil.which(name)
    if path is None:
        continue
    arguments = {"nsenter": ["-t", "1", "-a", "true"], "unshare": ["-r", "true"], "chroot": ["/", "true"],
                 "bwrap": ["--ro-bind", "/", "/", "true"]}.get(name, ["run", "true"])
    done = subprocess.run([path, *arguments], capture_output=True, timeout=5)
    if done.returncode == 0 or not done.stderr + done.stdout:
        allowed.append(f"{name}: {done.returncode}, silent or successful")
"""),
    _prying("clocks", "D18", """
import time
moment = ctypes.byref((ctypes.c_long * 2)(1, 0))
for number, arguments in ((164, (0, 0)), (227, (0, moment)), (159, (0,)), (305, (0, 0))):
    shut(f"call {number}", lambda: call(number, *arguments), errno.EPERM)
shut("time namespace", lambda: call(272, 0x80), errno.EPERM)
for clock in (8, 9):
    shut(f"alarm clock {clock}", lambda: call(283, clock, 0), errno.EPERM, errno.ENOTSUP, errno.EINVAL)
""", needs=_X86),
    _prying("environment", "D17", f"""
import platform
if platform.node() != "jail" or socket.gethostname() != "jail":
    allowed.append(f"host name {{platform.node()}}")
for word in ("PROXY", "TOKEN", "KEY", "SECRET", "PASSWORD", "SESSION", "USER", "LOGNAME", "SHELL"):
    allowed.extend(name for name in os.environ if word in name.upper())
for path in ("/etc/machine-id", "/etc/hostid", "/etc/shadow", "/etc/resolv.conf", "/etc/ssh", "/boot", "/srv", "/mnt"):
    if os.path.exists(path):
        allowed.append(path)
canary = os.environ.get("{CANARY}", "/etc/shadow")
shut("canary", lambda: open(canary, "a").write("touched"), errno.ENOENT, errno.EROFS, errno.EACCES)
""", "D19"),
)  # fmt: skip
