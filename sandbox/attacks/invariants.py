"""What no jail may change: taken before, compared after.

`Canaries` are things of the host that a jail must not reach; a `Baseline` is the state of this process and host, as
far as a jail could have changed it. A difference that goes by itself within a moment is none: the kernel puts
processes away in its own time.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from appliance.clean import clean_line
from appliance.sandbox import uids
from appliance.sandbox.cgroups import PREFIX
from appliance.sandbox.ending import JailResult, JailStatus
from appliance.sandbox.policy import Limits
from appliance.sandbox.probes import CANARY, CANARY_PID, CANARY_PORT, CANARY_SOCKET

PATIENCE_S = 1.0
RSS_SLACK_MIB = 64.0
"""An allocator keeps what it has had; a leak of every run's output is larger over a catalogue."""
PEAK_SLACK_MIB = 16
MARK = "appliance-probe"
"""Beginning of the names of whatever a probe tries to leave behind."""
IPC_KEY = 0x0A11CE
"""Key of the System V objects that a probe tries to leave behind."""
PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock", "/run/user")
MOUNTED = "the mount table changed"
SECRET = "unread and unchanged"
_FLOCK = struct.Struct("hhqqi4x")


class Canaries:
    """A file, a process and two listening sockets of the host; `variables` tell a probe how to find them."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="appliance-canary-"))
        self._folder.chmod(0o755)
        self._file = self._folder / "secret"
        self._file.write_text(SECRET)
        self._file.chmod(0o666)
        # It ends when we do, however we do.
        self._process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        name = f"appliance-canary-{os.getpid()}-{id(self)}"
        self._listeners = {"socket": _listener(socket.AF_UNIX, f"\0{name}")}
        self._listeners["port"] = _listener(socket.AF_INET, ("127.0.0.1", 0))
        self.variables = {
            CANARY: str(self._file),
            CANARY_PID: str(self._process.pid),
            CANARY_PORT: str(self._listeners["port"].getsockname()[1]),
            CANARY_SOCKET: name,
        }

    def breaches(self) -> list[str]:
        """What was touched."""
        found = []
        if (
            not self._file.is_file()
            or self._file.read_text() != SECRET
            or len(list(self._folder.iterdir())) != 1
        ):
            found.append("the canary file was changed")
        if self._process.poll() is not None:
            found.append("the canary process has ended")
        for name, listener in self._listeners.items():
            with contextlib.suppress(BlockingIOError):
                listener.accept()[0].close()
                found.append(f"the canary {name} was contacted")
        return found

    def close(self) -> None:
        for listener in self._listeners.values():
            listener.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Canaries:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _listener(family: int, address: Any) -> socket.socket:
    found = socket.socket(family, socket.SOCK_STREAM)
    found.bind(address)
    found.listen()
    found.setblocking(False)
    return found


@dataclass(frozen=True, slots=True)
class Baseline:
    """The state of this process and host. Take it after the first jail: that one starts a helper that stays."""

    leaves: frozenset[str]
    processes: frozenset[str]
    mounts: frozenset[str]
    descriptors: frozenset[str]
    threads: int
    rss_mib: float
    files: frozenset[str]
    """Of jails, in places of the host that everybody may write to."""
    ipc: frozenset[str]

    @classmethod
    def take(cls) -> Baseline:
        return cls(
            leaves=leaves(),
            processes=processes(),
            mounts=frozenset(Path("/proc/self/mountinfo").read_text().splitlines()),
            descriptors=descriptors(),
            threads=threading.active_count(),
            rss_mib=rss_mib(),
            files=files(),
            ipc=ipc(),
        )

    def breaches(
        self,
        canaries: Canaries | None = None,
        *,
        patience_s: float = PATIENCE_S,
        rss_slack_mib: float = RSS_SLACK_MIB,
    ) -> list[str]:
        """What has changed since, in words fit for a terminal; nothing when it is all as it was."""
        deadline = time.monotonic() + patience_s
        while found := self._differences(Baseline.take(), rss_slack_mib):
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        return [clean_line(text, 300) for text in found + (canaries.breaches() if canaries else [])]

    def _differences(self, now: Baseline, rss_slack_mib: float) -> list[str]:
        found = [f"a cgroup is left: {path}" for path in now.leaves - self.leaves]
        found += [f"a process is left: {text}" for text in now.processes - self.processes]
        found += [f"{MOUNTED}: {text}" for text in now.mounts ^ self.mounts]
        found += [f"a descriptor is left: {text}" for text in now.descriptors - self.descriptors]
        found += [f"a file is left: {path}" for path in now.files - self.files]
        found += [f"an IPC object is left: {text}" for text in now.ipc - self.ipc]
        if now.threads > self.threads:
            found.append(f"{now.threads - self.threads} threads are left")
        if now.rss_mib > self.rss_mib + rss_slack_mib:
            found.append(f"memory grew from {self.rss_mib:.0f} to {now.rss_mib:.0f} MiB")
        return found


def result_breaches(result: JailResult, limits: Limits) -> list[str]:
    """What a result may not hold, whatever was run."""
    found = []
    if max(len(result.stdout), len(result.stderr)) > limits.output_kb << 10:
        found.append(f"more than {limits.output_kb} KiB of output were kept")
    if clean_line(result.detail) != result.detail:
        found.append(f"raw control characters in the detail: {result.detail!r}")
    if result.peak_mib is not None and result.peak_mib > limits.memory_mb + PEAK_SLACK_MIB:
        found.append(f"a peak of {result.peak_mib:.1f} MiB, {limits.memory_mb} allowed")
    # 5 % below the limit a verdict of memory would be somebody else's.
    low = result.peak_mib is not None and result.peak_mib < 0.95 * limits.memory_mb
    if result.status is JailStatus.memory and low:
        found.append(f"out of memory at {result.peak_mib:.1f} MiB, {limits.memory_mb} allowed")
    return found


def leaves() -> frozenset[str]:
    """Cgroups of jails that this process has anywhere: looked for, not asked of what should have removed them."""
    return frozenset(leaves_of(os.getpid()))


def leaves_of(pid: int) -> list[str]:
    """The same for any client. `os.walk`, unlike a glob, lets folders go while it looks."""
    start = f"{PREFIX}-{pid}-"
    walk = os.walk("/sys/fs/cgroup")
    return [f"{place}/{name}" for place, folders, _ in walk for name in folders if name.startswith(start)]


def processes() -> frozenset[str]:
    """What descends from us, and what runs with a jail's uid that nobody holds."""
    table = {folder.name: status for folder in Path("/proc").glob("[0-9]*") if (status := _status(folder))}
    found = set()
    for pid, status in table.items():
        if _is_ours(pid, table) or _is_stray(pid, status):
            found.add(f"{pid} {status['Name']}")
    return frozenset(found)


def _status(folder: Path) -> dict[str, str]:
    try:
        rows = (line.partition(":") for line in (folder / "status").read_text().splitlines())
        return {name: value.strip() for name, _, value in rows}
    except OSError:
        return {}


def _is_ours(pid: str, table: dict[str, dict[str, str]]) -> bool:
    parent = table[pid]["PPid"]
    while parent in table and parent != str(os.getpid()):
        parent = table[parent]["PPid"]
    return parent == str(os.getpid())


def _is_stray(pid: str, status: dict[str, str]) -> bool:
    """Without memory it runs nothing any more: the kernel is putting it away."""
    if "VmSize" not in status:
        return False
    uid = int(status["Uid"].split()[0])
    if os.geteuid() == 0:
        return any(_is_free(uid - base) for base in uids.RANGES if 0 <= uid - base < uids.COUNT)
    nested = len(status.get("NSpid", "").split()) > len(_status(Path("/proc/self")).get("NSpid", "").split())
    return nested and uid == os.geteuid() and status["PPid"] == "1"


def _is_free(index: int) -> bool:
    """Whether no live client on this host holds this uid."""
    try:
        with uids.LOCK_FILE.open("rb") as file:
            asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, index, 1, 0)
            kind = _FLOCK.unpack(fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked))[0]
    except FileNotFoundError:
        return True
    return bool(kind == fcntl.F_UNLCK)


def descriptors() -> frozenset[str]:
    """Ours, each with what it leads to: a number alone may be taken again."""
    found = set()
    for path in Path("/proc/self/fd").iterdir():
        # The listing has a descriptor of its own, which is gone by now.
        with contextlib.suppress(FileNotFoundError):
            found.add(f"{path.name} {path.readlink()}")
    return frozenset(found)


def rss_mib() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def files() -> frozenset[str]:
    """Files of jail uids, or with the mark of a probe, in places that everybody may write to."""
    found = set()
    for place in PLACES:
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                if entry.name.startswith(MARK) or _is_jail_uid(entry.stat(follow_symlinks=False).st_uid):
                    found.add(entry.path)
    return frozenset(found)


def ipc() -> frozenset[str]:
    """System V objects of jail uids, or with a probe's key."""
    found = set()
    for kind in ("shm", "sem", "msg"):
        with contextlib.suppress(OSError):
            head, *rows = (line.split() for line in Path("/proc/sysvipc", kind).read_text().splitlines())
            for row in rows:
                fields = dict(zip(head, row, strict=False))
                if int(fields["key"]) == IPC_KEY or _is_jail_uid(int(fields["cuid"])):
                    found.add(f"{kind} {row[1]}")
    return frozenset(found)


def _is_jail_uid(uid: int) -> bool:
    return any(base <= uid < base + uids.COUNT for base in uids.RANGES)
