"""Running candidate code: the one door of this room.

`Jails` starts jails in this process's own name and is safe to use from many threads; every run blocks its own thread.
A result is what the command did; an exception is what the host could not do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType
from weakref import WeakSet

from appliance.errors import SandboxError
from appliance.paths import Paths
from appliance.sandbox.artefacts import Collection, CollectLimits
from appliance.sandbox.auditing import AuditReport, Recording
from appliance.sandbox.cell import AuditedMaker, Cell, ColdMaker, Host, Shape
from appliance.sandbox.cgroups import nursery
from appliance.sandbox.changes import Entry, Snapshot
from appliance.sandbox.channel import Peer as Peer
from appliance.sandbox.channel import Talk
from appliance.sandbox.ending import JailResult, JailStatus
from appliance.sandbox.fit import check_policy
from appliance.sandbox.host import likely_problem
from appliance.sandbox.image import Image, own_interpreter
from appliance.sandbox.images import store as images
from appliance.sandbox.images.tools import REMEDY as TOOLS_REMEDY
from appliance.sandbox.images.tools import prepare_tools, tool_versions, tools_image_name
from appliance.sandbox.jail import Jail
from appliance.sandbox.launcher import Launcher
from appliance.sandbox.nsjail import nsjail_binary
from appliance.sandbox.order import Order, order
from appliance.sandbox.policy import Policy
from appliance.sandbox.pool import Pool
from appliance.sandbox.session import IDLE_S, Session, check_idle
from appliance.sandbox.uids import Identities

GRAVEDIGGERS = 2
FAREWELL_S = 0.25
CLOSE_PATIENCE_S = 10.0
GRAVE_S = 0.01
"""Long enough that every gravedigger takes one: what was before it is done."""

__all__ = [
    "TOOLS_REMEDY",
    "CollectLimits",
    "Collection",
    "Conversation",
    "Entry",
    "JailResult",
    "JailStatus",
    "Jails",
    "Snapshot",
    "prepare_tools",
    "tool_versions",
    "tools_image_name",
]


class Jails:
    """The direct client. Nothing is started before the first jail is.

    `warm`: keep jails ready, forked from a preloaded interpreter. The first one costs more, the rest a tenth.
    """

    def __init__(self, paths: Paths, *, warm: bool = False, image: str = "") -> None:
        """`image`: a name or a digest of the image store; empty is this host's own."""
        self._paths, self._warm, self._image = paths, warm, image
        self._held = ExitStack()
        self._lock = threading.Lock()
        self._host: Host | None = None
        self._pool: Pool | None = None
        self._reduced = ""
        self._running: WeakSet[Jail] = WeakSet()
        self._sessions: WeakSet[Session] = WeakSet()
        self.cold_because = ""
        """Why jails are not warm although they were to be."""

    def run(
        self,
        command: Sequence[str],
        policy: Policy,
        *,
        files: Mapping[str, bytes] | None = None,
        stdin: bytes = b"",
    ) -> JailResult:
        """Run `command` to its end. `files` lie read-only below /job; the working folder is /work."""
        jail = self.start(order(command, policy, files, stdin))
        return explained(jail, jail.supervise())

    def audit(
        self,
        command: Sequence[str],
        policy: Policy,
        *,
        files: Mapping[str, bytes] | None = None,
        stdin: bytes = b"",
    ) -> tuple[JailResult, AuditReport]:
        """Run `command` under trace and say what it did: slower, and to be read, not to be judged by."""
        with Recording() as recording:
            jail = self.start(order(command, policy, files, stdin), recording=recording)
            return explained(jail, jail.supervise()), recording.read()

    def open(
        self, command: Sequence[str], policy: Policy, *, files: Mapping[str, bytes] | None = None
    ) -> Conversation:
        """Start `command` and talk to it over the descriptors it finds in APPLIANCE_CHANNEL."""
        return Conversation(self.start(order(command, policy, files), conversing=True))

    def start(self, wanted: Order, *, conversing: bool = False, recording: Recording | None = None) -> Jail:
        """A jail that carries out an order; whoever starts it supervises it."""
        jail = Jail(self._cell(wanted.policy, conversing, recording), wanted, audited=recording is not None)
        with self._lock:
            self._running.add(jail)
        return jail

    def session(
        self, policy: Policy, start: Mapping[str, bytes] | Snapshot | None = None, *, idle_s: float = IDLE_S
    ) -> Session:
        """A jail for many commands whose /work begins as `start`. The policy's limits hold for each command.

        It ends by itself when no command comes for `idle_s` seconds.
        """
        check_idle(idle_s)
        pool = self._pooled(self._fit(policy))
        shape = Shape.of(policy.limits, idle_s=idle_s)
        session = Session(lambda tree: pool.make(policy.limits, shape, tree), policy, start)
        with self._lock:
            self._sessions.add(session)
        return session

    def waiting(self) -> list[Cell]:
        """Warm jails that wait for an order, to be looked at."""
        pool = self._pool
        return pool.waiting() if pool else []

    def rest(self) -> None:
        """Wait until jails that ended are gone to the last trace, and keep none ready until the next order."""
        if self._pool is not None:
            self._pool.rest()
        if self._host is not None:
            for grave in [self._host.gravedigger.submit(time.sleep, GRAVE_S) for _ in range(GRAVEDIGGERS)]:
                grave.result()

    @property
    def live(self) -> int:
        """Jails of this client that are running now; those that wait for an order do not count."""
        host, pool = self._host, self._pool
        return host.identities.live - (len(pool.waiting()) if pool else 0) if host else 0

    def close(self) -> None:
        """End every jail of this client. What ran has ended as `infra`; what had ended keeps its result."""
        self._end_all()
        with self._lock:
            host, self._host = self._host, None
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()
        if host is not None:
            host.gravedigger.shutdown()
            host.launcher.close()
            host.identities.close()
        self._held.close()

    def _end_all(self) -> None:
        """Each jail by who supervises it: one whose launcher goes first cannot be accounted for."""
        with self._lock:
            jails, sessions = list(self._running), list(self._sessions)
        for jail in jails:
            jail.close()
        for session in sessions:
            session.end()
        deadline = time.monotonic() + CLOSE_PATIENCE_S
        for jail in jails:
            jail.wait(max(0.0, deadline - time.monotonic()))

    def __enter__(self) -> Jails:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def prepare_host(self) -> Host:
        """Do now what the first jail would wait for."""
        with self._lock:
            if self._host is None:
                image = self._hold_image()
                found, self._reduced = nursery()
                if found is not None:
                    found.sweep()
                graves = ThreadPoolExecutor(GRAVEDIGGERS, thread_name_prefix="jail graves")
                self._host = Host(
                    Launcher(image.root), image, found, Identities(), nsjail_binary().path, graves
                )
            return self._host

    def _hold_image(self) -> Image:
        """The image, found to be what it was, and kept from being collected while we are open."""
        if self._image:
            return self._held.enter_context(images.use(self._paths.images, self._image))
        return self._held.enter_context(images.use_own(self._paths.images, own_interpreter()))

    def _fit(self, policy: Policy) -> Host:
        """The host, unless it cannot hold the policy's limits."""
        host = self.prepare_host()
        check_policy(policy, host.nursery, self._reduced)
        return host

    def _cell(self, policy: Policy, conversing: bool, recording: Recording | None) -> Cell:
        host = self._fit(policy)
        shape = Shape.of(policy.limits, conversing=conversing)
        if recording is not None:
            return Cell(host, policy.limits, shape, AuditedMaker(recording.fd))
        if self._warm:
            try:
                return self._pooled(host).take(policy.limits, shape)
            except SandboxError as error:
                if self._pool is not None:
                    raise
                # No zygote on this host: each jail by its own nsjail is slower and just as good.
                self._warm, self.cold_because = False, error.message
        return Cell(host, policy.limits, shape, ColdMaker())

    def _pooled(self, host: Host) -> Pool:
        with self._lock:
            if self._pool is None:
                self._pool = Pool(host)
            return self._pool


def explained(jail: Jail, result: JailResult) -> JailResult:
    """A jail that never got as far as its command: the host's reason, when one is known, as an error."""
    if result.status is JailStatus.infra and not jail.started:
        problem = likely_problem()
        if problem is not None:
            raise SandboxError(f"{problem.text} ({result.detail})", remedy=problem.remedy)
    return result


class Conversation(Talk):
    """A conversation that this process supervises, in a thread of its own."""

    def __init__(self, jail: Jail) -> None:
        assert jail.channel is not None
        super().__init__(jail.channel)
        self._jail = jail
        self._result: JailResult | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._supervise, name="jail", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._jail.stop()

    def _end(self) -> None:
        if self._at_end:
            # The peer is gone: what it ended with is on its way.
            self._thread.join(FAREWELL_S)
        self._jail.stop()
        self._thread.join()

    def _ending(self) -> JailResult:
        if self._failure is not None:
            raise self._failure
        assert self._result is not None
        return explained(self._jail, self._result)

    def _supervise(self) -> None:
        try:
            self._result = self._jail.supervise()
        except (OSError, SandboxError) as error:
            self._failure = error
