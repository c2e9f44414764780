"""Conversations under audit: the jails of a client, each by an nsjail of its own, with a trace of what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from appliance.sandbox.auditing import Recording
from appliance.sandbox.cell import AuditedMaker, Cell, Shape
from appliance.sandbox.client import Conversation, Jails
from appliance.sandbox.jail import Jail
from appliance.sandbox.order import order
from appliance.sandbox.policy import Policy


class Witness:
    """Opens one conversation in a jail of `jails` and keeps what was seen of it."""

    def __init__(self, jails: Jails) -> None:
        self._jails = self.aside = jails
        """`aside`: for a task's own programs, which are not what is watched."""
        self._recording = Recording()

    def open(
        self, command: Sequence[str], policy: Policy, *, files: Mapping[str, bytes] | None = None
    ) -> Conversation:
        """As `Jails.open`, under audit. SandboxError without python-ptrace."""
        wanted, limits = order(command, policy, files), policy.limits
        shape, maker = Shape.of(limits, conversing=True), AuditedMaker(self._recording.fd)
        return Conversation(Jail(Cell(self._jails.prepare_host(), limits, shape, maker), wanted))

    def read(self) -> dict[str, Any]:
        """What was seen, as plain data; after the conversation."""
        return self._recording.read().to_json()

    def __enter__(self) -> Witness:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recording.close()
