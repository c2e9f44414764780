"""The init of a session: carries out one order after the other, and hands out the folder of what changed.

Runs inside a zygote's child like sandbox/init.py and speaks its words, with these on top. From the host: `K` ends the
command that runs, `P` asks for a sign of life, `U` asks for the folder that holds every change to /work. To the host:
`P`, and `U` with that folder's descriptor. After each command everything it left running is killed, so that between
commands only this process lives. It ends when the host's end closes, or when no order comes for the idle limit.
"""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Callable

from appliance.sandbox import init


class Resident:
    """Serves orders on a control socket until there are no more."""

    def __init__(self, control: int, changes: int, idle_s: float, fork: Callable[[bytes], int]) -> None:
        self._control = socket.socket(fileno=control)
        self._changes, self._idle_s, self._fork = changes, idle_s, fork
        self._bell, bell = socket.socketpair()
        for end in (self._bell, bell):
            end.setblocking(False)
        self._ringer = bell
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(bell.fileno(), warn_on_full_buffer=False)
        self._ticks = 0

    def serve(self) -> None:
        self._say(b"R\n")
        while message := self._next(self._idle_s):
            if not self._answer(message):
                self._run(message)
                self._say(b"R\n")

    def forget(self) -> None:
        """In a child that becomes the command."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for end in (self._control, self._bell, self._ringer):
            end.close()
        os.close(self._changes)

    def _run(self, message: bytes) -> None:
        places = init.with_room()
        self._say(b"S\n")
        try:
            pid = self._fork(message)
        except OSError as error:
            init.end_rest()
            self._say(b"E %d\n" % (error.errno or 0))
            return
        status = self._wait(pid)
        init.end_rest()
        code, ticks, full = init.ending(status, places).split()[1:]
        self._say(b"X %s %d %s\n" % (code, int(ticks) - self._ticks, full))
        self._ticks = int(ticks)

    def _wait(self, pid: int) -> int:
        """Reap until the command ends, by itself or on an order; return its status."""
        while True:
            try:
                ended, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return signal.SIGKILL
            if ended == pid:
                return status
            if ended == 0:
                self._attend(pid)

    def _attend(self, pid: int) -> None:
        for end in select.select([self._control, self._bell], [], [])[0]:
            if end is self._bell:
                self._bell.recv(4096)
                continue
            message = self._control.recv(init.ORDER_BYTES)
            if message in (b"K", b""):
                os.kill(pid, signal.SIGKILL)
                if not message:
                    os._exit(0)
            else:
                self._answer(message)

    def _next(self, patience_s: float) -> bytes:
        if not select.select([self._control], [], [], patience_s)[0]:
            return b""
        return self._control.recv(init.ORDER_BYTES)

    def _answer(self, message: bytes) -> bool:
        """Whether it was a question and no order."""
        if message == b"U":
            socket.send_fds(self._control, [b"U\n"], [self._changes])
        elif message == b"P":
            self._say(b"P\n")
        return message in (b"K", b"P", b"U")

    def _say(self, word: bytes) -> None:
        try:
            self._control.send(word)
        except OSError:
            os._exit(0)
