"""Jails under audit: those of a client, each by an nsjail of its own, with a trace of what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from types import TracebackType
from typing import Any

from appliance.errors import SandboxError
from appliance.sandbox.auditing import MAX_TROUBLE, AuditReport, Recording
from appliance.sandbox.cell import AuditedMaker, Cell, Shape
from appliance.sandbox.changes import Snapshot
from appliance.sandbox.client import Conversation, Jails
from appliance.sandbox.ending import JailResult
from appliance.sandbox.jail import Jail
from appliance.sandbox.order import order
from appliance.sandbox.policy import Policy
from appliance.sandbox.session import Session


class Witness:
    """Opens one conversation, or runs commands, in jails of `jails` and keeps what was seen of them."""

    def __init__(self, jails: Jails) -> None:
        self._jails = self.aside = jails
        """`aside`: for a task's own programs, which are not what is watched."""
        self._recording = Recording()
        self._reports: list[AuditReport] = []
        self._talked = False

    def open(
        self, command: Sequence[str], policy: Policy, *, files: Mapping[str, bytes] | None = None
    ) -> Conversation:
        """As `Jails.open`, under audit. SandboxError without python-ptrace."""
        wanted, limits = order(command, policy, files), policy.limits
        self._talked = True
        shape, maker = Shape.of(limits, conversing=True), AuditedMaker(self._recording.fd)
        return Conversation(Jail(Cell(self._jails.prepare_host(), limits, shape, maker), wanted))

    def run(
        self,
        command: Sequence[str],
        policy: Policy,
        *,
        files: Mapping[str, bytes] | None = None,
        stdin: bytes = b"",
    ) -> JailResult:
        """As `Jails.run`, under audit."""
        result, report = self._jails.audit(command, policy, files=files, stdin=stdin)
        self._reports.append(report)
        return result

    def session(self, policy: Policy, start: Mapping[str, bytes] | Snapshot | None = None) -> Session:
        """Refused: a session's jail is forked from a zygote, where nothing traces it."""
        raise SandboxError("a session cannot be audited", remedy="leave tasks of its kind out of audits")

    def read(self) -> dict[str, Any]:
        """What was seen, as plain data; after the conversation and the commands."""
        talk = [self._recording.read()] if self._talked or not self._reports else []
        return together([*self._reports, *talk]).to_json()

    def __enter__(self) -> Witness:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recording.close()


def together(reports: Sequence[AuditReport]) -> AuditReport:
    """One report of several jails, in the order in which they ran; complete only if each is."""
    return AuditReport(
        opened=tuple(chain.from_iterable(report.opened for report in reports)),
        connected=tuple(chain.from_iterable(report.connected for report in reports)),
        executed=tuple(chain.from_iterable(report.executed for report in reports)),
        denied=tuple(chain.from_iterable(report.denied for report in reports)),
        changed=tuple(chain.from_iterable(report.changed for report in reports)),
        ended=tuple(chain.from_iterable(report.ended for report in reports)),
        untraced=sum(report.untraced for report in reports),
        dropped=sum(report.dropped for report in reports),
        complete=all(report.complete for report in reports),
        trouble=" ".join(filter(None, (report.trouble for report in reports)))[:MAX_TROUBLE],
    )
