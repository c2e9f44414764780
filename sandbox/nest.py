"""A zygote and the outer jail that holds it: where warm jails come from.

One nsjail starts one preloaded interpreter (sandbox/zygote.py); after that a jail costs a fork. When the zygote dies
every jail in it dies, and each is reported as the host's failure.
"""

from __future__ import annotations

import os
import platform
import socket
import sys
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from appliance.errors import SandboxError
from appliance.sandbox import uids
from appliance.sandbox.cell import Cell, Host, interpreter
from appliance.sandbox.job import make_job, remove_job, write_files
from appliance.sandbox.launcher import MESSAGE_BYTES
from appliance.sandbox.nsjail import CONTROL_FD, INSIDE_ID, JOB, ZYGOTE_IDS, Identity, zygote_arguments
from appliance.sandbox.policy import Limits
from appliance.sandbox.seccomp import assembled

START_PATIENCE_S = 30.0
LIMITS = Limits(memory_mb=4096, pids=4096)
"""A guard, no more: the kernel charges a zygote for the namespaces of its jails, over 1 MiB for each that lives."""
SOURCES = ("init.py", "inline.py", "namespaces.py", "resident.py", "spawner.py", "zygote.py")


class Nest:
    """A running zygote; safe to use from many threads. `made` counts its forks."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._stack = ExitStack()
        self.made = 0
        self.dead = False
        try:
            self._start()
        except BaseException as error:
            self._stack.close()
            if isinstance(error, OSError):
                raise SandboxError(f"cannot start a zygote: {error}", remedy="free memory") from error
            raise

    def start(self, cell: Cell, fds: list[int]) -> socket.socket:
        """Fork a jail for `cell`; the Maker of warm cells."""
        uid = cell.identity.uid - self._first + ZYGOTE_IDS if self._first is not None else INSIDE_ID
        limits, idle_s = cell.limits, cell.shape.idle_s
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        joins = cell.leaf.open_joins() if cell.leaf else []
        try:
            body = f"{cell.job} {uid} {limits.disk_mb} {limits.inodes} {idle_s} {len(joins)}".encode()
            socket.send_fds(self._control, [body], [theirs.fileno(), *fds, *joins])
            self.made += 1
        except OSError as error:
            ours.close()
            self.dead = True
            raise SandboxError(f"the zygote is gone: {error}", remedy="try again") from error
        finally:
            theirs.close()
            for fd in joins:
                os.close(fd)
        return ours

    def close(self) -> None:
        """End the zygote and with it every jail it holds."""
        with self._lock:
            self._stack.close()

    def _start(self) -> None:
        host, stack = self._host, self._stack
        stage = host.launcher.stage()
        self._first = host.identities.reserved
        name = f"zygote-{os.getpid()}-{id(self)}"
        stack.callback(remove_job, stage.jobs_fd, name)
        make_job(stage.jobs_fd, name)
        here = Path(__file__).parent
        sources = {f"appliance/sandbox/{file}": (here / file).read_bytes() for file in SOURCES}
        write_files(stage.jobs_fd, name, sources)
        leaf = host.nursery.leaf(LIMITS) if host.nursery else None
        if leaf:
            stack.callback(leaf.remove)
        self._control, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stack.callback(self._control.close)
        log, write = os.pipe2(os.O_CLOEXEC)
        stack.callback(os.close, log)
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        script = f"{JOB}/{name}/appliance/sandbox/zygote.py"
        command = [*interpreter(host.image), "-B", script]
        words = [str(CONTROL_FD), platform.machine(), inline_interpreter(host.image.interpreter)]
        try:
            line = host.launcher.launch(
                [*self._argv(stage.root, stage.jobs), *command, *words],
                leaf.joins if leaf else [],
                [nothing, nothing, write, write, inner.fileno()],
            )
        finally:
            inner.close()
            os.close(write)
            os.close(nothing)
        stack.callback(line.close)
        self._greet(log)

    def _argv(self, root: str, jobs: str) -> list[str]:
        host, first = self._host, self._first
        image = replace(host.image, root=root)
        if first is None:
            return zygote_arguments(host.binary, image, jobs, Identity(os.geteuid(), os.getegid()), None)
        own = first + uids.COUNT
        return zygote_arguments(host.binary, image, jobs, Identity(own, own), (first, uids.COUNT))

    def _greet(self, log: int) -> None:
        """Send the filter, wait for its word."""
        self._control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MESSAGE_BYTES)
        self._control.settimeout(START_PATIENCE_S)
        try:
            self._control.send(assembled(platform.machine()))
            answer = self._control.recv(64)
        except OSError:
            answer = b""
        self._control.settimeout(None)
        if answer != b"ready":
            os.set_blocking(log, False)
            try:
                said = os.read(log, 4096).decode(errors="replace").strip()
            except BlockingIOError:
                said = ""
            raise SandboxError(
                f"the zygote of warm jails did not start: {said or 'no word from it'}",
                remedy="appliance doctor jail says what this host refuses",
            )


def inline_interpreter(image_interpreter: str) -> str:
    """The program inside that a zygote is as good as; empty when the image brings its own Python."""
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    folder = "/usr/bin" if image_interpreter == "/.jail/python3" else str(Path(image_interpreter).parent)
    return f"{folder}/{name}"
