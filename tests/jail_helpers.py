"""What the tests of jails share: a peer to talk to, and looking from outside at what is still there."""

from __future__ import annotations

import gc
import io
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from appliance.errors import SandboxError
from appliance.paths import from_environment
from appliance.sandbox import parcels, wire
from appliance.sandbox.cgroups import PREFIX
from appliance.sandbox.client import Jails
from appliance.sandbox.remote import RemoteJails

ROOT = Path(__file__).resolve().parents[1]
_sequence = itertools.count()

ECHO = b"""
import os, sys, time
read, write = (int(part) for part in os.environ["APPLIANCE_CHANNEL"].split(","))
while body := os.read(read, 65536):
    if body == b"die": os._exit(7)
    if body == b"close": os.close(write); time.sleep(60)
    if body == b"hang": time.sleep(60)
    if body == b"hog": hoard = [b"x" * (1 << 20) for _ in range(1000)]
    left = memoryview(body.upper())
    while left: left = left[os.write(write, left):]
"""


def echo(jails: Any, policy: Any) -> Any:
    """A conversation with a peer that says everything louder."""
    return jails.open(["python3", "-S", "/job/echo.py"], policy, files={"echo.py": ECHO})


def came(what: Callable[[], object], seconds: float = 90) -> bool:
    """Whether it came true within that time."""
    deadline = time.monotonic() + seconds
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def mark() -> str:
    """A number of seconds that nobody else's `sleep` has: how a test module's processes are told from others."""
    return f"{60 + next(_sequence) + os.getpid() / 1e7:.7f}"


def sleepers(mark: str) -> list[int]:
    """Processes that sleep for `mark` seconds, in whatever jail."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes() == f"sleep\0{mark}\0".encode():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def leaves_of(pid: int) -> list[Path]:
    """The cgroups of jails that the process of that pid has started."""
    mark = f"{PREFIX}-{pid}-"
    # Unlike a glob, a walk does not mind folders that go while it looks.
    return [
        Path(top, name)
        for top, names, _ in os.walk("/sys/fs/cgroup")
        for name in names
        if name.startswith(mark)
    ]


def descriptors() -> list[str]:
    """Our own, by number."""
    # What earlier tests dropped in a cycle would otherwise be closed whenever the collector happens to run.
    gc.collect()
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


def jailer(home: Path, path: Path, *options: str, **more: Any) -> subprocess.Popen[bytes]:
    """A jailer of its own folder; `more` goes to the process."""
    command = [sys.executable, "-m", "appliance.sandbox.jailer", "--socket", str(path), *options]
    environment = {**os.environ, "APPLIANCE_HOME": str(home), **more.pop("env", {})}
    return subprocess.Popen(command, cwd=ROOT, env=environment, **more)


def answering(path: Path) -> int:
    """The pid of the jailer that answers there; 0: none."""
    try:
        return RemoteJails(path).status().pid
    except SandboxError:
        return 0


@contextmanager
def direct(home: Path) -> Iterator[Jails]:
    with Jails(from_environment({"APPLIANCE_HOME": str(home)})) as jails:
        yield jails


@contextmanager
def remote(home: Path, *options: str) -> Iterator[RemoteJails]:
    path = home / f"jailer-{next(_sequence)}.sock"
    with jailer(home, path, *options, stderr=subprocess.DEVNULL) as process:
        try:
            assert came(lambda: answering(path) == process.pid, 120)
            with RemoteJails(path) as jails:
                yield jails
        finally:
            process.terminate()
    assert process.returncode == 0


@contextmanager
def warm(home: Path) -> Iterator[Jails]:
    with Jails(from_environment({"APPLIANCE_HOME": str(home)}), warm=True) as jails:
        yield jails


@contextmanager
def remote_warm(home: Path) -> Iterator[RemoteJails]:
    with remote(home, "--warm") as jails:
        yield jails


VARIANTS: dict[str, Callable[[Path], AbstractContextManager[Any]]] = {
    "direct": direct,
    "remote": remote,
    "warm": warm,
    "remote-warm": remote_warm,
}
"""Every way of running jails: a context that gives something with the interface of `Jails`."""


def tar(files: Mapping[str, bytes | str]) -> bytes:
    """A tar of files, and of links where a text is given."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        for name, body in files.items():
            info = tarfile.TarInfo(name)
            info.mode = 0o755
            if isinstance(body, str):
                info.type, info.linkname = tarfile.SYMTYPE, body
            info.size = len(body) if isinstance(body, bytes) else 0
            made.addfile(info, io.BytesIO(body) if isinstance(body, bytes) else None)
    return out.getvalue()


def programs(*names: str) -> dict[str, bytes]:
    """Programs of this host with the libraries they load, by their paths in a root."""
    found: dict[str, bytes] = {}
    for name in names:
        program = Path(shutil.which(name) or name).resolve()
        found[f"bin/{name}"] = program.read_bytes()
        for word in subprocess.run(["ldd", program], capture_output=True, text=True).stdout.split():
            if word.startswith("/"):
                found[word.lstrip("/")] = Path(word).read_bytes()
    return found


class Jailer:
    """A jailer process under test."""

    def __init__(self, home: Path, *options: str, group: int | None = None, **environment: str) -> None:
        self.path = home / "jailer.sock"
        self.log = home / "log"
        with self.log.open("ab") as log:
            self.process = jailer(home, self.path, *options, stderr=log, group=group, env=environment)
        assert came(self.answers, 120), self.log.read_text()

    def answers(self) -> bool:
        return answering(self.path) == self.process.pid

    @property
    def live(self) -> int:
        return RemoteJails(self.path).status().live

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))  # noqa: PTH208

    def settled(self) -> int:
        """How many descriptors it has when it has closed what it is about to close."""
        counts = [-1]
        while len({*counts[-9:]}) > 1 or len(counts) < 9:
            counts.append(self.descriptors())
            time.sleep(0.02)
        return counts[-1]

    def raw(self) -> socket.socket:
        line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
        assert came(lambda: line.connect_ex(str(self.path)) == 0)
        line.settimeout(20)
        return line

    def spawners(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(pid) for path in children for pid in path.read_text().split()]

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)


@contextmanager
def serving(
    home: Path, mark: str, *options: str, group: int | None = None, **environment: str
) -> Iterator[Jailer]:
    """A jailer in `home`; at its end, no process that sleeps for `mark` seconds is left."""
    found = Jailer(home, *options, group=group, **environment)
    try:
        yield found
    finally:
        found.end(signal.SIGKILL)
        assert came(lambda: not sleepers(mark))


def heard(line: socket.socket) -> wire.Answer | None:
    """The next answer, None at the end."""
    while True:
        try:
            with parcels.received(line, wire.MESSAGE_BYTES) as (body, _):
                return wire.decode_answer(body) if body else None
        except ConnectionResetError:
            continue
