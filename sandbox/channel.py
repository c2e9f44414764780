"""Talking to what runs in a jail: our ends of two pipes, and the conversation over them, whoever watches it."""

from __future__ import annotations

import os
import select
from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from appliance.sandbox.ending import JailResult


@dataclass(frozen=True, slots=True)
class Channel:
    """Our ends of a conversation's two pipes, which outlive the jail: what it said can still be read."""

    read: int
    write: int

    def close(self) -> None:
        os.close(self.read)
        os.close(self.write)


class Peer(Protocol):
    """What a conversation is to whoever has it; see `Talk`."""

    def send(self, body: bytes) -> None: ...

    def receive(self, max_bytes: int, timeout_s: float) -> bytes | None: ...

    def stop(self) -> None: ...

    def finish(self) -> JailResult: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Talk(ABC):
    """A running command and a pair of pipes to it; used by one thread, but for `stop`."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._at_end = False
        """The peer has closed its end, or is gone."""
        self._open = True

    def send(self, body: bytes) -> None:
        """Write all of `body`; BrokenPipeError when the peer is gone, which a full pipe ends in at the latest
        when the jail reaches a limit."""
        if not self._open:
            raise BrokenPipeError("the conversation is finished")
        left = memoryview(body)
        while left:
            left = left[os.write(self._channel.write, left) :]

    def receive(self, max_bytes: int, timeout_s: float) -> bytes | None:
        """What the peer wrote, up to `max_bytes`; None when its jail has ended; TimeoutError when it is silent.

        A peer that closes its descriptor and lives on is silent: it cannot be told apart from a slow one.
        """
        if self._at_end or not self._open:
            return None
        waiting = select.poll()
        waiting.register(self._channel.read, select.POLLIN)
        if not waiting.poll(max(0.0, timeout_s) * 1000):
            raise TimeoutError(f"nothing was received in {timeout_s:g} s")
        body = os.read(self._channel.read, max_bytes)
        self._at_end = not body
        return body or None

    def finish(self) -> JailResult:
        """End the conversation, have what is left killed and say how it ended; again when asked again."""
        if self._open:
            self._open = False
            os.close(self._channel.write)
            self._end()
            os.close(self._channel.read)
        return self._ending()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            self.finish()

    @abstractmethod
    def stop(self) -> None:
        """Have the jail ended, from any thread: whoever has the conversation then finds its peer gone."""

    @abstractmethod
    def _end(self) -> None:
        """See the jail to its end; an exception would leave the conversation half closed."""

    @abstractmethod
    def _ending(self) -> JailResult: ...
