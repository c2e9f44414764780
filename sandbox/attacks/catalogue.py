"""The whole catalogue of attacks: what each is, which probes try it, where those are tested that no probe can try.

Ids are stable; a gap is an attack that fell together with another.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from pathlib import Path

from appliance.errors import UsageError
from appliance.paths import Paths
from appliance.sandbox.attacks.kernel import KERNEL
from appliance.sandbox.attacks.limits import REFUSED, TAKING
from appliance.sandbox.attacks.scenes import SCENES
from appliance.sandbox.probes import PROBES, Probe

ATTACKS: dict[str, str] = {
    "A1": "fork bomb",
    "A2": "fork bomb with sessions of its own that ignores SIGTERM",
    "A4": "thread bomb",
    "A5": "storms of vfork, spawn and clone",
    "A6": "memory bomb in one process",
    "A7": "memory bomb over many small processes",
    "A8": "memory held in files and anonymous files",
    "A11": "mlock against reclaim",
    "A12": "a lower OOM score",
    "A13": "thrashing just under the limit",
    "A14": "memory moved to swap",
    "A15": "CPU burned in many children",
    "A16": "sleep without end",
    "A17": "a parent that waits uninterruptibly",
    "A18": "SIGSTOP to itself, its group, the init",
    "A19": "priority, scheduling class, affinity",
    "A20": "floods of signals and timers",
    "A21": "exit while a grandchild runs on",
    "A22": "a daemon that holds stdout, renamed and deaf to signals",
    "A23": "renamed processes against accounting",
    "A24": "timing of caches and frequency between siblings",
    "B1": "fill each writable folder",
    "B2": "fill the inodes with files, links, folders",
    "B3": "one huge file",
    "B4": "sparse file of 1 TiB",
    "B5": "fallocate and truncate over the limit",
    "B7": "a folder of a million entries in the results",
    "B8": "file names with control characters, dashes, directions",
    "B9": "symbolic link to the host in the results",
    "B11": "links where the supervisor writes",
    "B12": "hard links to files of the host",
    "B13": "FIFO in place of a result",
    "B14": "device nodes",
    "B15": "result replaced by a link to a device or to /proc",
    "B17": "recursive change of ownership by the supervisor",
    "B18": "tar and zip bombs in images",
    "B19": "tar entries that lead outside",
    "B20": "whiteouts that lead outside",
    "B21": "an image layer that turns a folder into a link",
    "B22": "an image whose digests do not match",
    "B23": "duplicate and case-colliding names in an image",
    "B24": "extended attributes, ACLs and file capabilities in images",
    "B25": "writing to the read-only image",
    "B26": "poisoned caches of bytecode",
    "B27": "traps for the next run in every writable place",
    "B28": "file locks on shared read-only files as a channel",
    "B29": "access times and page cache as a channel",
    "B30": "inherited descriptors",
    "C1": "unshare and what it opens",
    "C2": "clone and clone3 with namespace flags",
    "C3": "setns",
    "C4": "every call that mounts",
    "C5": "chroot and folder descriptors",
    "C6": "ptrace and memory of other processes",
    "C8": "keyrings",
    "C9": "io_uring",
    "C10": "bpf, perf, userfaultfd, handles",
    "C11": "socket families: VSOCK, packet, ALG and others",
    "C12": "abstract sockets of the host",
    "C13": "loopback services of the host",
    "C14": "socket files of the host",
    "C15": "interfaces, routes, tun",
    "C16": "names, metadata address, IPv6; refused at once",
    "C17": "setuid programs, file capabilities",
    "C18": "other uids and gids",
    "C19": "writing to /proc/sys and its like",
    "C20": "kernel log, addresses, other processes in /proc",
    "C21": "overwriting the launcher through /proc/self/exe",
    "C22": "the cgroup file system",
    "C23": "cgroup and sysfs mounts in a nested namespace",
    "C26": "arguments changed by a second thread",
    "C27": "personality",
    "C28": "core dumps",
    "C30": "sandbox tools inside",
    "C31": "exploits of known kernel bugs",
    "C32": "unsafe configurations of a jail",
    "D1": "flood of stdout",
    "D2": "flood of one stream while the other idles",
    "D3": "an endless line, an endless answer",
    "D5": "input that nobody reads",
    "D6": "binary output",
    "D7": "terminal sequences in output and names",
    "D8": "forged lines of nsjail's log",
    "D10": "forged records of the init",
    "D11": "signals to the init and to everything",
    "D12": "the init traced or killed",
    "D13": "exit code 0 before the tests ran",
    "D15": "abort, segfault, foreign calls; failures to start",
    "D17": "secrets in the environment, host name, files",
    "D18": "the clock",
    "D19": "noticing the sandbox, and the grader",
    "D20": "supervisor or launcher killed in the middle",
    "D21": "nsjail killed while it starts",
    "D22": "the host out of memory",
    "D23": "disk full under the queue",
    "D24": "a thousand jobs at once",
    "D25": "huge and deep arguments of a job",
    "D26": "names of input files that lead outside",
    "D27": "tampering with tests and rewards",
    "D28": "a conversation's peer that destroys itself",
    "D29": "traps in the interpreter for the next user; equal random numbers",
    "D32": "verdicts that change under load",
}

_IMAGES = "tests/test_sandbox_unpack.py"
_COLLECTION = "tests/test_sandbox_artefacts.py"
ELSEWHERE: dict[str, str] = {
    "A24": "out of scope: siblings share a processor; give each candidate a core where this matters",
    "B7": _COLLECTION,
    "B9": _COLLECTION,
    "B13": _COLLECTION,
    "B15": _COLLECTION,
    "B17": "tests/test_sandbox_probes.py: no owner is changed across a link",
    "B18": _IMAGES,
    "B19": _IMAGES,
    "B20": _IMAGES,
    "B21": _IMAGES,
    "B22": "tests/test_sandbox_images.py",
    "B23": _IMAGES,
    "B24": _IMAGES,
    "B28": "documented: jails that run at once can signal to each other by locking a file of the image",
    "B29": "out of scope: what siblings read of the image is in one page cache",
    "C31": "out of scope: keep the kernel up to date; exploits of it are no test to run on a user's machine",
    "C32": "tests/test_sandbox_policy.py: the arguments of nsjail are fixed, no policy can widen them",
    "D13": "tests/test_judge.py: a judge wants its own record, not an exit code",
    "D22": "tests/test_sandbox_policy.py: a kill for the host's memory is `infra`",
    "D23": "tests/test_queue_crashes.py",
    "D24": "tests/test_queue_jobs.py",
    "D25": "tests/test_queue_jobs.py",
    "D27": "tests/test_judge.py",
}
"""Attacks of the catalogue that are not programs in a jail: where they are tested, or why they are not."""

CATALOGUE: tuple[Probe, ...] = tuple(
    sorted(PROBES + TAKING + REFUSED + KERNEL + SCENES, key=lambda probe: (probe.id[0], int(probe.id[1:])))
)


def _has_swap(paths: Paths | None) -> bool:
    return len(Path("/proc/swaps").read_text().splitlines()) > 1


NEEDS: dict[str, tuple[Callable[[Paths | None], bool], str]] = {
    "swap": (_has_swap, "this host has no swap to hide memory in"),
    "x86-64": (lambda paths: platform.machine() == "x86_64", "its system calls are numbered for x86-64"),
    "client": (lambda paths: paths is not None, "it needs a client process of its own"),
}
"""What a probe may need of a host, and why it is skipped without."""


def skip_reason(probe: Probe, paths: Paths | None) -> str:
    """Why a probe cannot be tried here, or nothing."""
    return next((why for holds, why in map(NEEDS.__getitem__, probe.needs) if not holds(paths)), "")


def chosen(names: Sequence[str], *, fast: bool = False) -> tuple[Probe, ...]:
    """The probes of these ids or names, all when there is none; UsageError for an unknown one."""
    probes = [probe for probe in CATALOGUE if probe.fast or not fast]
    if not names:
        return tuple(probes)
    wanted = {name.upper() for name in names}
    for name in sorted(wanted):
        _check(name)
    return tuple(probe for probe in CATALOGUE if wanted & {*probe.ids, probe.name.upper()})


def _check(name: str) -> None:
    if any(name in (*probe.ids, probe.name.upper()) for probe in CATALOGUE):
        return
    if name in ELSEWHERE:
        raise UsageError(f"{name} ({ATTACKS[name]}) is no probe", remedy=f"see {ELSEWHERE[name]}")
    raise UsageError(f"no probe has the id or name {name!r}", remedy="docs/probes.md lists them")
