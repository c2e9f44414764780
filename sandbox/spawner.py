"""The small process that starts every nsjail of one client: fork, join the leaf, exec.

Run as `python3 -I -S spawner.py SOCKET MODE IMAGE STAGE`; the standard library only, one thread, because it forks.
In mode `private`, under root, it first takes a mount namespace of its own with a private tmpfs at STAGE: an image below
a folder that a jail's uid cannot traverse is bound there, jobs are written there, and nothing of it is seen or left
on the host. In mode `shared` STAGE is an ordinary folder.

On the control socket each request is one message, `{"argv", "join"}` with descriptors: a line of its own for
this jail, then 0 upwards of the child. On the line it takes `k` (kill) and `a` (wake nsjail, whose wait can miss a
child) and answers with the wait status when nsjail is gone. When the control socket closes, or when the parent is
gone, every jail is killed, its leaf removed, and the process ends.
"""

# pathlib costs more to import than all the rest.
# ruff: noqa: PTH208, PTH101, PTH102, PTH103, PTH106, PTH116, PTH123

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any

MESSAGE_BYTES = 192 * 1024
MAX_FDS = 16
LOG_FD = 3
OUT_OF_THE_WAY = 64
TICK_MS = 1000
END_PATIENCE_S = 15.0

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CLONE_NEWNS = 0x20000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18

libc = ctypes.CDLL(None, use_errno=True)


class Child:
    """One running nsjail, its line to the client, and its cgroup folders in case the client cannot remove them."""

    def __init__(self, pid: int, line: int, folders: list[str]) -> None:
        self.pid = pid
        self.line = socket.socket(fileno=line)
        self.folders = folders


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    if libc.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}: {os.strerror(ctypes.get_errno())}")


def take_private_stage(image: str, stage: str) -> None:
    """A mount namespace in which STAGE is ours; the image is bound below it."""
    if libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), f"unshare: {os.strerror(ctypes.get_errno())}")
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    source = os.open(image, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    with contextlib.suppress(FileExistsError):
        os.mkdir(stage, 0o755)
    mount("appliance", stage, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    os.mkdir(f"{stage}/image", 0o755)
    mount(f"/proc/self/fd/{source}", f"{stage}/image", "", MS_BIND | MS_REC)
    # Without nosuid and nodev of the file system below, which a jail could not drop when it remounts.
    mount("none", f"{stage}/image", "", MS_REMOUNT | MS_BIND | MS_RDONLY)
    os.close(source)
    # nsjail, already under the jail's uid, builds its root in the first of these it can use.
    os.makedirs(f"{stage}/0/nsjail", 0o755)
    os.chmod(f"{stage}/0/nsjail", 0o1777)


def place(fds: list[int]) -> None:
    """In the child: descriptors 0 upwards, and no other."""
    if min(fds) < len(fds):
        # Copied out of the way first: a source lies where another belongs.
        fds = [fcntl.fcntl(fd, fcntl.F_DUPFD, OUT_OF_THE_WAY) for fd in fds]
    for index, fd in enumerate(fds):
        os.dup2(fd, index)
    os.closerange(len(fds), 1 << 16)


def become(request: dict[str, Any]) -> None:
    """In the child: into the leaf, then nsjail."""
    for path in request["join"]:
        with open(path, "w") as file:
            file.write("0")
    # Without a cgroup nothing else ends it when we are killed.
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # Ignored signals stay ignored over exec: what our caller ignores (nohup: SIGHUP) must not reach the candidate.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError):
            signal.signal(number, signal.SIG_DFL)
    # A wake-up may come before nsjail has its handler.
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    os.execve(request["argv"][0], request["argv"], {})


def refuse(fds: list[int], reason: bytes) -> None:
    """A request that cannot be carried out: as if its child had said so and ended."""
    line, *child_fds = fds
    with contextlib.suppress(OSError):
        os.write(child_fds[LOG_FD], reason)
        os.write(line, str(255 << 8).encode())
    for fd in fds:
        os.close(fd)


def is_tracer(pid: int) -> bool:
    """Whether a child is of our own process namespace, as a tracer is and no process of a jail."""
    try:
        return os.path.samestat(os.stat(f"/proc/{pid}/ns/pid"), os.stat("/proc/self/ns/pid"))
    except OSError:
        return False


def family(folders: list[str]) -> list[str]:
    """These cgroup folders and all others that the same process made: names differ in their last number only."""
    found = set(folders)
    for parent, _, name in (folder.rpartition("/") for folder in folders):
        maker = name.rpartition("-")[0]
        with contextlib.suppress(OSError):
            found |= {
                f"{parent}/{other}" for other in os.listdir(parent) if other.rpartition("-")[0] == maker
            }
    return sorted(found)


def removed(folder: str) -> bool:
    """Remove a cgroup folder, unless something still belongs to it."""
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


class Spawner:
    """The loop: requests in, nsjails out, everything that ends reaped."""

    def __init__(self, control: socket.socket, parent: int) -> None:
        self._control = control
        self._parent = parent
        self._children: dict[int, Child] = {}
        self._by_line: dict[int, Child] = {}
        self._abandoned: list[str] = []
        # A signal that has a handler interrupts the poll through this pair.
        self._bell, bell = socket.socketpair()
        for end in (self._bell, bell):
            end.setblocking(False)
        self._ringer = bell
        signal.set_wakeup_fd(bell.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self._poll = select.poll()
        for end in (control, self._bell):
            self._poll.register(end, select.POLLIN)

    def serve(self) -> None:
        while os.getppid() == self._parent:
            for fd, _ in self._poll.poll(TICK_MS):
                if fd == self._bell.fileno():
                    self._bell.recv(4096)
                    self._reap()
                elif fd != self._control.fileno():
                    self._obey(fd)
                elif not self._take_request():
                    return

    def spawn(self, body: bytes, fds: list[int]) -> Child:
        """Fork one nsjail; whatever goes wrong in the child is written to the jail's log. Raise OSError."""
        request = json.loads(body)
        line, *child_fds = fds
        pid = os.fork()
        if pid == 0:
            try:
                place(child_fds)
                become(request)
            except OSError as error:
                os.write(LOG_FD, f"spawner: {error}\n".encode())
            finally:
                os._exit(255)
        return Child(pid, line, [path.rpartition("/")[0] for path in request["join"]])

    def _take_request(self) -> bool:
        body, fds, _, _ = socket.recv_fds(self._control, MESSAGE_BYTES, MAX_FDS)
        if not body:
            return False
        try:
            child = self.spawn(body, fds)
        except OSError as error:
            refuse(fds, f"cannot fork: {error}\n".encode())
            return True
        for fd in fds[1:]:
            os.close(fd)
        self._children[child.pid] = child
        self._by_line[child.line.fileno()] = child
        self._poll.register(child.line, select.POLLIN)
        return True

    def _obey(self, fd: int) -> None:
        child = self._by_line.get(fd)
        if child is None:
            return
        orders = child.line.recv(64)
        if b"k" in orders or not orders:
            os.kill(child.pid, signal.SIGKILL)
        elif b"a" in orders:
            os.kill(child.pid, signal.SIGALRM)
        if not orders:
            self._poll.unregister(fd)
            del self._by_line[fd]
            # Its client no longer watches it; if that is because it died, the leaf is ours to remove.
            self._abandoned += child.folders

    def _reap(self) -> None:
        """Reap nsjails and, being what they fall to when nsjail is killed, the inits of jails."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if child := self._children.pop(pid, None):
                self.kill_strays()
                self._bury(child, status)

    def kill_strays(self) -> None:
        """What a nsjail left that was killed before its jail was to die with it has become our child.

        So has, for a moment, the tracer of an audited nsjail, which ends by itself with the last that it follows.
        """
        with open("/proc/thread-self/children") as file:
            strays = {int(word) for word in file.read().split()} - self._children.keys()
        for pid in strays:
            if not is_tracer(pid):
                os.kill(pid, signal.SIGKILL)

    def _bury(self, child: Child, status: int) -> None:
        with contextlib.suppress(OSError):
            child.line.send(str(status).encode())
        if self._by_line.pop(child.line.fileno(), None):
            self._poll.unregister(child.line)
        child.line.close()

    def end(self) -> None:
        """Kill every jail; with its init a jail's process namespace dies whole."""
        # Nobody is told of these ends: they are ours, not the candidates'.
        children, self._children = self._children, {}
        folders = self._abandoned + [folder for child in children.values() for folder in child.folders]
        if os.getppid() != self._parent:
            folders = family(folders)
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + END_PATIENCE_S
        while time.monotonic() < deadline and not all(map(removed, folders)):
            # A process that nobody has reaped still holds its cgroup.
            self._reap()
            time.sleep(0.005)


def main(arguments: list[str]) -> None:
    parent = os.getppid()
    control = socket.socket(fileno=int(arguments[0]))
    private, image, stage = arguments[1] == "private", arguments[2], arguments[3]
    os.umask(0o022)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # A jail's uid and gid are its own; groups beside them would be the jailer's, whose socket one of them may use.
    with contextlib.suppress(PermissionError):
        os.setgroups([])
    try:
        if private:
            take_private_stage(image, stage)
        os.makedirs(f"{stage}/jobs/none", 0o755)
        jobs = os.open(f"{stage}/jobs", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        control.send(json.dumps({"error": str(error)}).encode())
        return
    root = f"{stage}/image" if private else image
    socket.send_fds(control, [json.dumps({"root": root, "jobs": f"{stage}/jobs"}).encode()], [jobs])
    os.close(jobs)
    spawner = Spawner(control, parent)
    try:
        spawner.serve()
    finally:
        spawner.end()
        if not private:
            # A zygote, which imports us, has no use for it.
            import shutil

            shutil.rmtree(stage, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
