"""Answers the control socket: one thread moves bytes and never waits for a client, a few others do the work.

A client costs a descriptor and a small buffer until its question is whole. It has `PATIENCE_S` for that, and again
to take its answer. When there are too many, the oldest one without a whole question makes room, of the uid that
holds the most: who only stalls cannot keep others out. When all of them have asked, newcomers wait in the kernel's
line until one has its answer; a question that only looks, of a client that is gone, costs nothing.
"""

from __future__ import annotations

import os
import select
import selectors
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from appliance import control
from appliance.clean import clean_line
from appliance.errors import ApplianceError
from appliance.sandbox.seat import Peer, peer_of

MOST_CLIENTS = 64
THREADS = 4
PATIENCE_S = 5.0
TURN_S = 0.5
HEADER_BYTES = 4

Answer = Callable[[control.Command, Peer], Mapping[str, Any]]


@dataclass(eq=False, slots=True)
class _Client:
    """One connection: bytes come in until there is a question, and go out until the answer is taken."""

    line: socket.socket
    peer: Peer
    deadline: float
    """Seconds of the monotonic clock."""
    got: bytearray = field(default_factory=bytearray)
    owed: memoryview = field(default_factory=lambda: memoryview(b""))
    asked: bool = False


class ControlServer:
    """Serves a listening socket from `start` to `stop`. `answer` is called in threads of ours, for many at once."""

    def __init__(self, listener: socket.socket, answer: Answer) -> None:
        self._listener, self._answer = listener, answer
        self._selector = selectors.DefaultSelector()
        self._clients: dict[int, _Client] = {}
        self._answered: list[tuple[_Client, bytes]] = []
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="control")
        self._full = False
        """Nobody is accepted just now."""
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._stopping = False
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)

    def __enter__(self) -> ControlServer:
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take no more questions; who is being answered gets the answer if it comes soon."""
        self._stopping = True
        os.eventfd_write(self._wake, 1)
        self._thread.join(2 * PATIENCE_S)
        self._pool.shutdown(cancel_futures=True)
        os.close(self._wake)

    def _serve(self) -> None:
        give_up = float("inf")
        while True:
            now = time.monotonic()
            if self._stopping and give_up == float("inf"):
                if not self._full:
                    self._selector.unregister(self._listener)
                for client in [known for known in self._clients.values() if not known.asked]:
                    self._close(client)
                give_up = now + PATIENCE_S
            if self._stopping and (not self._clients or now > give_up):
                break
            for key, _ in self._selector.select(TURN_S):
                self._attend(key.fd)
            self._deliver()
            self._drop_silent(time.monotonic())
        for client in list(self._clients.values()):
            self._close(client)
        self._selector.close()

    def _attend(self, fd: int) -> None:
        if fd == self._wake:
            with suppress(BlockingIOError):
                os.eventfd_read(self._wake)
        elif not self._stopping and fd == self._listener.fileno():
            self._accept()
        elif client := self._clients.get(fd):
            (self._send if client.asked else self._read)(client)

    def _accept(self) -> None:
        try:
            line, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError as error:
            # Out of descriptors, most likely; others must end before there are more.
            _log(f"cannot accept: {error}")
            if not self._make_room():
                self._refuse_for_now()
            return
        line.setblocking(False)
        client = _Client(line, peer_of(line), time.monotonic() + PATIENCE_S)
        self._clients[line.fileno()] = client
        self._selector.register(line, selectors.EVENT_READ)
        if len(self._clients) > MOST_CLIENTS and not self._make_room(client):
            self._refuse_for_now()

    def _refuse_for_now(self) -> None:
        """Accept nobody until a client is gone; at the next turn if there is none."""
        if self._clients and not self._full:
            self._full = True
            self._selector.unregister(self._listener)

    def _make_room(self, newest: _Client | None = None) -> bool:
        """Drop the oldest client without a whole question, of the uid that has the most of them."""
        silent = [known for known in self._clients.values() if not known.asked and known is not newest]
        if not silent:
            return False
        (most, _), *_ = Counter(client.peer.uid for client in silent).most_common(1)
        self._close(next(client for client in silent if client.peer.uid == most))
        return True

    def _read(self, client: _Client) -> None:
        try:
            more = client.line.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            more = b""
        if not more:
            self._close(client)
            return
        client.got += more
        try:
            whole = _body(client.got)
            if whole is not None:
                self._take(client, control.parse_command(whole))
        except ApplianceError as error:
            self._owe(client, control.encode_error(error))

    def _take(self, client: _Client, command: control.Command) -> None:
        """Have a thread answer; the connection is not listened to meanwhile."""
        client.asked, client.deadline = True, float("inf")
        client.got.clear()
        self._selector.unregister(client.line)
        self._pool.submit(self._work, client, command)

    def _work(self, client: _Client, command: control.Command) -> None:
        """In a thread of the pool."""
        try:
            wanted = command.changes or not _gone(client.line)
            reply = control.encode_result(self._answer(command, client.peer) if wanted else {})
        except ApplianceError as error:
            reply = control.encode_error(error)
        except Exception as error:  # noqa: BLE001
            # A fault in one answer is told to who asked and to the log; it must not leave a client waiting.
            _log(f"{command.verb} failed: {type(error).__name__}: {error}")
            reply = control.encode_error(ApplianceError(f"{command.verb} failed: {type(error).__name__}"))
        with self._lock:
            self._answered.append((client, reply))
        with suppress(OSError):
            os.eventfd_write(self._wake, 1)

    def _deliver(self) -> None:
        with self._lock:
            ready, self._answered = self._answered, []
        for client, reply in ready:
            self._owe(client, reply)

    def _owe(self, client: _Client, reply: bytes) -> None:
        """Begin to send an answer, and wait for the client no longer than its patience."""
        client.asked, client.owed = True, memoryview(reply)
        client.deadline = time.monotonic() + PATIENCE_S
        with suppress(KeyError):
            self._selector.unregister(client.line)
        self._selector.register(client.line, selectors.EVENT_WRITE)
        self._send(client)

    def _send(self, client: _Client) -> None:
        try:
            client.owed = client.owed[client.line.send(client.owed) :]
        except BlockingIOError:
            return
        except OSError:
            client.owed = memoryview(b"")
        if not client.owed:
            self._close(client)

    def _drop_silent(self, now: float) -> None:
        for client in [known for known in self._clients.values() if known.deadline <= now]:
            self._close(client)

    def _close(self, client: _Client) -> None:
        with suppress(KeyError):
            self._selector.unregister(client.line)
        self._clients.pop(client.line.fileno(), None)
        client.line.close()
        if self._full and not self._stopping:
            self._full = False
            self._selector.register(self._listener, selectors.EVENT_READ)


def _gone(line: socket.socket) -> bool:
    """Whether the other end is closed."""
    look = select.poll()
    look.register(line, 0)
    return any(events & select.POLLHUP for _, events in look.poll(0))


def _body(got: bytearray) -> bytes | None:
    """The body of a question that is whole; what follows it is no part of it and is not read."""
    if len(got) < HEADER_BYTES:
        return None
    length = control.parse_length(bytes(got[:HEADER_BYTES]))
    return bytes(got[HEADER_BYTES : HEADER_BYTES + length]) if len(got) >= HEADER_BYTES + length else None


def _log(text: str) -> None:
    with suppress(OSError):
        print(f"daemon: {clean_line(text, 400)}", file=sys.stderr, flush=True)
