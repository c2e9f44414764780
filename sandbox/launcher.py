"""The client's end of the spawner: one helper process per `Jails`, started at first use.

Requests are single messages, so that many threads may launch at once. When the helper dies its jails die with it,
and the next launch starts another.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import SandboxError
from appliance.sandbox.cgroups import birth
from appliance.sandbox.uids import CAP_SYS_ADMIN, has_capabilities

MESSAGE_BYTES = 192 * 1024
STAGE = "/run/user"
"""Where, under root, the helper's own mount namespace keeps image and jobs; the host's folder stays as it is."""
START_PATIENCE_S = 30.0
FOLDER = "appliance-jails"
"""Of a stage without root, with the identity of its owner behind it: the janitor removes those of the dead."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What the helper has laid out, as nsjail will see it."""

    root: str
    """The image."""
    jobs: str
    """A folder per jail."""
    jobs_fd: int
    """The same, for us to write through: under root it is in no name space of ours."""


class Launcher:
    """Starts nsjails through the helper; safe to use from many threads."""

    def __init__(self, image_root: str) -> None:
        self._image_root = image_root
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._stage: Stage | None = None
        self._folder = ""

    def stage(self) -> Stage:
        """The helper's stage; starts the helper when there is none."""
        with self._lock:
            if self._stage is None or self._process is None or self._process.poll() is not None:
                self._drop()
                self._start()
            assert self._stage is not None
            return self._stage

    def launch(self, argv: Sequence[str], joins: Sequence[str], fds: Sequence[int]) -> socket.socket:
        """Start one nsjail with `fds` as its descriptors from 0; return the line to it."""
        body = json.dumps({"argv": list(argv), "join": list(joins)}).encode()
        if len(body) > MESSAGE_BYTES:
            raise SandboxError(f"a command line of {len(body)} bytes", remedy="pass large input as a file")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        control = self._control
        try:
            if control is None:
                raise OSError("the launcher is closed")
            socket.send_fds(control, [body], [theirs.fileno(), *fds])
        except OSError as error:
            ours.close()
            raise SandboxError(f"the jail launcher is gone: {error}", remedy="try again") from error
        finally:
            theirs.close()
        return ours

    def close(self) -> None:
        """End the helper and with it every jail."""
        with self._lock:
            self._drop()

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The default buffer of some hosts is smaller than our largest message.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MESSAGE_BYTES)
        private = os.geteuid() == 0 and has_capabilities(CAP_SYS_ADMIN)
        self._folder = "" if private else _shared_folder()
        if not private:
            claim_scratch()
        script = Path(__file__).with_name("spawner.py")
        options = ["-I", "-S", "-X", "utf8", str(script), str(theirs.fileno())]
        mode = "private" if private else "shared"
        try:
            self._process = subprocess.Popen(
                [sys.executable, *options, mode, self._image_root, self._folder or STAGE],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd="/",
                start_new_session=True,
            )
        finally:
            theirs.close()
        self._control = ours
        self._stage = _greeting(ours)

    def _drop(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(START_PATIENCE_S)
        if self._stage is not None:
            os.close(self._stage.jobs_fd)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._control = self._process = self._stage = None
        self._folder = ""


def _shared_folder() -> str:
    """A stage for jails whose uid may be another than ours: they get through it, and cannot list it."""
    folder = tempfile.mkdtemp(prefix=f"{FOLDER}-{os.getpid()}-{birth(os.getpid())}-")
    Path(folder).chmod(0o711)
    return folder


def claim_scratch(parent: str = "/tmp") -> None:
    """Make the folders that nsjail builds a jail's root in, before somebody else takes their names.

    Their names are nsjail's choice. They are empty, and stay: a jail of another process may be using them. Where a user
    has a runtime folder nsjail uses that. SandboxError when the names are taken.
    """
    for name in ("root", "tmp"):
        folder = Path(parent, f"nsjail.{os.getuid()}.{name}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir(0o700)
            # What builds in it may have another uid than ours by then; there is nothing to read in it.
            folder.chmod(0o755)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise SandboxError(
                f"{folder} belongs to uid {found.st_uid}, and jails would be built in it",
                remedy="have it removed by its owner or by root",
            )


def _greeting(control: socket.socket) -> Stage:
    """Wait for the helper's first message: what it laid out, or why it could not."""
    control.settimeout(START_PATIENCE_S)
    try:
        body, fds, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
    except TimeoutError:
        body, fds = b"", []
    control.settimeout(None)
    answer = json.loads(body) if body else {"error": "it ended or did not answer"}
    if "error" in answer:
        remedy = "give this process CAP_SYS_ADMIN, or run as an ordinary user; appliance doctor says more"
        raise SandboxError(f"the jail launcher cannot start: {answer['error']}", remedy=remedy)
    return Stage(answer["root"], answer["jobs"], fds[0])
