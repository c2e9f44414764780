"""Running candidate code: the one door of this room.

`Jails` starts jails in this process's own name and is safe to use from many threads; every run blocks its own thread.
A result is what the command did; an exception is what the host could not do.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType

from appliance.errors import SandboxError
from appliance.paths import Paths
from appliance.sandbox.cgroups import nursery
from appliance.sandbox.ending import JailResult, JailStatus
from appliance.sandbox.host import likely_problem
from appliance.sandbox.image import own_interpreter, prepare
from appliance.sandbox.jail import Host, Jail, order
from appliance.sandbox.launcher import Launcher
from appliance.sandbox.nsjail import nsjail_binary
from appliance.sandbox.policy import Policy
from appliance.sandbox.uids import Identities

__all__ = ["Conversation", "JailResult", "JailStatus", "Jails"]


class Jails:
    """The direct client. Nothing is started before the first jail is."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._lock = threading.Lock()
        self._host: Host | None = None

    def run(
        self,
        command: Sequence[str],
        policy: Policy,
        *,
        files: Mapping[str, bytes] | None = None,
        stdin: bytes = b"",
    ) -> JailResult:
        """Run `command` to its end. `files` lie read-only below /job; the working folder is /work."""
        wanted = order(command, policy, files, stdin)
        jail = Jail(self._ready(), wanted, conversing=False)
        return _explained(jail, jail.supervise())

    def open(
        self, command: Sequence[str], policy: Policy, *, files: Mapping[str, bytes] | None = None
    ) -> Conversation:
        """Start `command` and talk to it over the descriptors it finds in APPLIANCE_CHANNEL."""
        wanted = order(command, policy, files)
        return Conversation(Jail(self._ready(), wanted, conversing=True))

    @property
    def live(self) -> int:
        """Jails of this client that are running now."""
        host = self._host
        return host.identities.live if host else 0

    def close(self) -> None:
        """End every jail of this client."""
        with self._lock:
            host, self._host = self._host, None
        if host is not None:
            host.launcher.close()
            host.identities.close()

    def __enter__(self) -> Jails:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ready(self) -> Host:
        with self._lock:
            if self._host is None:
                self._host = _prepare_host(self._paths)
            return self._host


def _prepare_host(paths: Paths) -> Host:
    image = prepare(paths.images, own_interpreter())
    found, _ = nursery()
    if found is not None:
        found.sweep()
    return Host(Launcher(image.root), image, found, Identities(), nsjail_binary().path)


def _explained(jail: Jail, result: JailResult) -> JailResult:
    """A jail that never got as far as its command: the host's reason, when one is known, as an error."""
    if result.status is JailStatus.infra and not jail.started:
        problem = likely_problem()
        if problem is not None:
            raise SandboxError(f"{problem.text} ({result.detail})", remedy=problem.remedy)
    return result


class Conversation:
    """A running command and a pair of pipes to it. One thread talks; another supervises."""

    def __init__(self, jail: Jail) -> None:
        assert jail.channel is not None
        self._jail = jail
        self._channel = jail.channel
        self._at_end = False
        self._open = True
        self._result: JailResult | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._supervise, name="jail", daemon=True)
        self._thread.start()

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
        """End the conversation, kill what is left and say how it ended."""
        if self._open:
            self._open = False
            os.close(self._channel.write)
            self._jail.stop()
            self._thread.join()
            os.close(self._channel.read)
        if self._failure is not None:
            raise self._failure
        assert self._result is not None
        return _explained(self._jail, self._result)

    def __enter__(self) -> Conversation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            self.finish()

    def _supervise(self) -> None:
        try:
            self._result = self._jail.supervise()
        except (OSError, SandboxError) as error:
            self._failure = error
