"""Running a jail under audit: the command line that wraps nsjail's, and what the audit's report says.

The audit is a program of its own, because its library is under another licence: it is started, never imported. What
it reports is for people to read; it was chosen by the candidate and may be wrong, so nothing may be decided by it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib import util
from types import TracebackType
from typing import Any, TypeVar

from appliance.clean import clean_bytes, clean_line
from appliance.errors import SandboxError
from appliance.sandbox.nsjail import WORK

JAIL_LEVEL = 2
"""Forks from nsjail to the payload: nsjail's init, and what that starts."""
MAX_REPORT_BYTES = 16 << 20
MAX_TEXT = 600
MAX_TROUBLE = 2000
END_PATIENCE_S = 5.0
TICK_S = 0.005

T = TypeVar("T", bound="Record")


@dataclass(frozen=True, slots=True)
class Record:
    """Something that was seen, `count` times. Texts are escaped, printable and bounded."""

    count: int


@dataclass(frozen=True, slots=True)
class Opened(Record):
    """An open. `path` as it was asked for, `real` as the kernel found it; the same unless a link lies between."""

    path: str
    real: str
    access: str
    """read, write, both, or path for an open that allows neither."""
    creates: bool
    """Creates or empties the file."""
    result: str
    """`ok` or the name of the error; so in every record."""


@dataclass(frozen=True, slots=True)
class Connected(Record):
    """An address that a socket was used with, and the call: connect, bind, sendto, sendmsg."""

    call: str
    family: str
    address: str
    result: str


@dataclass(frozen=True, slots=True)
class Executed(Record):
    """A program that was started, or was tried to be."""

    path: str
    result: str


@dataclass(frozen=True, slots=True)
class Denied(Record):
    """A call that was refused by right: EPERM, EACCES, EROFS, ENOSYS or EAFNOSUPPORT."""

    call: str
    error: str


@dataclass(frozen=True, slots=True)
class Changed(Record):
    """A write, creation, removal or renaming outside the working folder, done or tried."""

    call: str
    path: str
    result: str


@dataclass(frozen=True, slots=True)
class Ended(Record):
    """The end of a process. `status` is its exit code, or less than 0: the signal that killed it."""

    pid: int
    """On the host."""
    program: str
    status: int


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What was seen of one run."""

    opened: tuple[Opened, ...] = ()
    connected: tuple[Connected, ...] = ()
    executed: tuple[Executed, ...] = ()
    denied: tuple[Denied, ...] = ()
    changed: tuple[Changed, ...] = ()
    ended: tuple[Ended, ...] = ()
    untraced: int = 0
    """Children that were made so that they cannot be traced."""
    dropped: int = 0
    """Records beyond the cap on each kind."""
    complete: bool = False
    """False: the audit was cut short, counts are lower bounds."""
    trouble: str = ""
    """What the audit itself complained of, escaped."""

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)


def audited(
    argv: Sequence[str],
    report_fd: int,
    *,
    joins: Sequence[str] = (),
    level: int = JAIL_LEVEL,
    work: str = WORK,
) -> list[str]:
    """The command line that runs `argv` (nsjail's, in full) under audit.

    It is started like `argv` itself, with one more descriptor, `report_fd`: that of a `Recording`, by the number
    that it has there. `joins` are the cgroup files that `argv` goes into; the audit stays outside, so the starter
    must not join them. SandboxError without python-ptrace.
    """
    if util.find_spec("ptrace") is None:
        raise SandboxError(
            "an audit needs python-ptrace, which is not installed",
            remedy="pip install 'post-training-appliance[audit]'",
        )
    options = ["--report", str(report_fd), "--level", str(level), "--work", work]
    options += [word for path in joins for word in ("--join", path)]
    return [sys.executable, "-I", "-X", "utf8", "-m", "appliance.sandbox.audit", *options, "--", *argv]


def has_ended(report: bytes) -> bool:
    """Whether the audit has written its last line."""
    last = report[:-1].rpartition(b"\n")[2]
    return report.endswith(b"\n") and last.startswith(b'{"kind": "end"')


def parse(report: bytes) -> AuditReport:
    """Read a report, whole or cut short; SandboxError when it is not one."""
    if len(report) > MAX_REPORT_BYTES:
        raise SandboxError(f"an audit report of {len(report)} bytes", remedy="run it again")
    records: list[dict[str, Any]] = []
    counts: dict[int, int] = {}
    dropped, complete, trouble = 0, False, []
    # What follows the last line's end was being written when the audit was killed.
    for line in report.split(b"\n")[:-1]:
        said = _object(line)
        if said is None:
            trouble.append(line)
        elif said["kind"] == "count":
            counts[said["line"]] = said["count"]
        elif said["kind"] == "end":
            dropped, complete = sum(said["dropped"].values()), True
        else:
            records.append(said)
    return AuditReport(
        opened=_records("open", Opened, records, counts),
        connected=_records("connect", Connected, records, counts),
        executed=_records("exec", Executed, records, counts),
        denied=_records("denied", Denied, records, counts),
        changed=_records("change", Changed, records, counts),
        ended=_records("exit", Ended, records, counts),
        untraced=sum(counts.get(n, 1) for n, said in enumerate(records) if said["kind"] == "untraced"),
        dropped=dropped,
        complete=complete,
        trouble=clean_bytes(b"\n".join(trouble), MAX_TROUBLE),
    )


def _object(line: bytes) -> dict[str, Any] | None:
    """A line of the report, or None when it is a complaint of the audit's."""
    try:
        said = json.loads(line)
    except ValueError:
        return None
    return said if isinstance(said, dict) and "kind" in said else None


def _records(
    kind: str, kept: type[T], records: Sequence[Mapping[str, Any]], counts: Mapping[int, int]
) -> tuple[T, ...]:
    """All records of one kind, in the order in which they were first seen."""
    try:
        return tuple(
            kept(**{field.name: _value(said, field.name, counts.get(number, 1)) for field in fields(kept)})
            for number, said in enumerate(records)
            if said["kind"] == kind
        )
    except KeyError as error:
        raise SandboxError(f"an audit report without {error}", remedy="reinstall the appliance") from error


def _value(said: Mapping[str, Any], name: str, count: int) -> Any:
    value = count if name == "count" else said[name]
    return clean_line(value, MAX_TEXT) if isinstance(value, str) else value


def denials(report: AuditReport) -> Counter[str]:
    """How often each call was refused."""
    found: Counter[str] = Counter()
    for denied in report.denied:
        found[denied.call] += denied.count
    return found


def describe(report: AuditReport) -> str:
    """The report for a terminal: all but the opens that only read, of which there are many."""
    lines = [f"executed   {item.path} {item.result}{_times(item)}" for item in report.executed]
    lines += [
        f"connected  {item.call} {item.address} {item.result}{_times(item)}" for item in report.connected
    ]
    lines += [f"denied     {item.call} {item.error}{_times(item)}" for item in report.denied]
    lines += [f"changed    {item.call} {item.path} {item.result}{_times(item)}" for item in report.changed]
    lines += [f"ended      {item.program} {item.status}" for item in report.ended]
    lines.append(f"opened     {len(report.opened)} different files (--json names them)")
    if report.untraced:
        lines.append(f"untraced   {report.untraced} processes evaded the audit")
    if report.dropped:
        lines.append(f"missing    {report.dropped} records beyond the first of their kind")
    if not report.complete:
        lines.append("missing    what came after the audit was cut short")
    return "\n".join([*lines, *(f"trouble    {line}" for line in report.trouble.splitlines())])


def _times(record: Record) -> str:
    return f" x{record.count}" if record.count > 1 else ""


class Recording:
    """Where an audit reports to: memory that outlives it and cannot block it."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("audit", os.MFD_CLOEXEC)

    def read(self, patience_s: float = END_PATIENCE_S) -> AuditReport:
        """What was reported, as `whole` has it."""
        return parse(self.whole(patience_s))

    def whole(self, patience_s: float = END_PATIENCE_S) -> bytes:
        """The report to be parsed. The audit is through a little after its command: waits for that, not for ever."""
        deadline = time.monotonic() + patience_s
        while not has_ended(body := self._body()) and time.monotonic() < deadline:
            time.sleep(TICK_S)
        return body

    def close(self) -> None:
        os.close(self.fd)

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _body(self) -> bytes:
        return os.pread(self.fd, MAX_REPORT_BYTES + 1, 0)
