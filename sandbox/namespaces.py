"""What a forked jail does to the world around it: namespaces, cgroup, ids, file systems, and then the doors shut.

Used by the zygote only, in a child that still has the rights for it. Written with few and plain calls: each page of the
interpreter that a child touches is copied for it, at about 3 µs, and pays for itself twice (here and in the zygote).
"""

# pathlib costs more to import than all the rest.
# ruff: noqa: PTH102

from __future__ import annotations

import _socket
import ctypes
import fcntl
import os
import signal
import struct
from collections.abc import Callable
from typing import NamedTuple

from appliance.sandbox import spawner

INSIDE_ID = 1000
MS_NOEXEC = 8
NEW_CGROUP, OTHER_NAMESPACES = 0x0200_0000, 0x7C02_0000
"""CLONE_NEWCGROUP after the cgroup is joined, so that the jail is at its root; mnt, uts, ipc, user, pid, net before."""
CLONE_CHILD_CLEARTID, CLONE_CHILD_SETTID = 0x0020_0000, 0x0100_0000
SYS_CLONE = {"x86_64": 56, "aarch64": 220}
CHILD_TID = {"x86_64": 3, "aarch64": 4}
"""Which argument of clone(2) that is, from 0."""
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 22, 24, 38
PR_GET_TID_ADDRESS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, SECCOMP_MODE_FILTER = 40, 47, 4, 2
NO_CAPABILITIES = (struct.pack("=Ii", 0x2008_0522, 0), bytes(24))
"""Header (_LINUX_CAPABILITY_VERSION_3, this process) and sets, as capset(2) takes them."""
SIOCSIFFLAGS, LOOPBACK_UP = 0x8914, struct.pack("16sH14x", b"lo", 1)
TMPFS = (("/work", "0700"), ("/tmp", "1777"), ("/dev/shm", "1777"))
PRIVATE = spawner.MS_NOSUID | spawner.MS_NODEV

libc = spawner.libc


class Wanted(NamedTuple):
    """A request for a jail."""

    job: str
    uid: int
    """Of the jail, as the zygote sees it."""
    disk_mb: int
    inodes: int
    idle_s: float
    """Of a session; 0: one order."""
    joins: int
    """How many of the descriptors are cgroup files."""

    @classmethod
    def of(cls, body: bytes) -> Wanted:
        job, uid, disk_mb, inodes, idle_s, joins = body.decode().split(" ")
        return cls(job, int(uid), int(disk_mb), int(inodes), float(idle_s), int(joins))


def checked(result: int, what: str) -> int:
    if result == -1:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def forker(machine: str) -> Callable[[int], int]:
    """A fork(2) into new namespaces, given as flags, without what Python and the libc do around it.

    They put right what other threads had in their hands; a zygote has no other threads. The libc's own note of the
    thread's id is kept right by the kernel. What is returned gives the child's id, 0 in the child, or raises OSError.
    """
    flags, arguments = int(signal.SIGCHLD), [ctypes.c_long(0) for _ in range(4)]
    address = ctypes.c_long(0)
    if libc.prctl(PR_GET_TID_ADDRESS, ctypes.byref(address), 0, 0, 0) == 0 and address.value:
        flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID
        arguments[CHILD_TID[machine] - 1] = address
    number = ctypes.c_long(SYS_CLONE[machine])
    return lambda wanted: checked(libc.syscall(number, ctypes.c_long(flags | wanted), *arguments), "clone")


def map_ids(pid: int, uid: int) -> None:
    """One id inside: the one that the jail was given."""
    line = b"%d %d 1" % (INSIDE_ID, uid)
    for name, text in (("setgroups", b"deny"), ("uid_map", line), ("gid_map", line)):
        fd = os.open(f"/proc/{pid}/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, text)
        finally:
            os.close(fd)


def enter(joins: range) -> None:
    """Into the cgroup, then into a view of cgroups that begins there, then to the jail's own ids."""
    for fd in joins:
        os.write(fd, b"0")
        os.close(fd)
    checked(libc.unshare(NEW_CGROUP), "unshare")
    os.setresgid(INSIDE_ID, INSIDE_ID, INSIDE_ID)
    os.setresuid(INSIDE_ID, INSIDE_ID, INSIDE_ID)


def furnish(wanted: Wanted) -> int:
    """The private file systems, the jail's own processes and files, and a loopback that is up.

    For a session /work is an overlay over the job's folder, and the folder of its changes is returned; else -1.
    """
    room = f"size={wanted.disk_mb << 20},nr_inodes={wanted.inodes},mode="
    for path, mode in TMPFS:
        spawner.mount("none", path, "tmpfs", PRIVATE, room + mode)
    files = f"/job/{wanted.job}"
    changes = overlay(files) if wanted.idle_s else -1
    spawner.mount(files, "/job", "", spawner.MS_BIND)
    spawner.mount("none", "/proc", "proc", spawner.MS_RDONLY | PRIVATE | MS_NOEXEC)
    raise_loopback()
    os.chdir("/work")
    return changes


def overlay(lower: str) -> int:
    """Cover /work with an overlay whose upper folder lies on the file system that was there."""
    for name in ("upper", "overlay"):
        os.mkdir(f"/work/{name}", 0o700)
    changes = os.open("/work/upper", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    options = f"lowerdir={lower},upperdir=/work/upper,workdir=/work/overlay,userxattr"
    spawner.mount("overlay", "/work", "overlay", PRIVATE, options)
    return changes


def raise_loopback() -> None:
    handle = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    fcntl.ioctl(handle, SIOCSIFFLAGS, LOOPBACK_UP)
    handle.close()


def shut(program: bytes) -> None:
    """No capability, no way to one, and no system call that leads out. `program`: a struct sock_fprog."""
    prctl = libc.prctl
    checked(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "prctl")
    number = 0
    while prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    checked(libc.capset(*NO_CAPABILITIES), "capset")
    checked(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")
    checked(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    checked(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0), "seccomp")
