"""The judge: examines a submission layer by layer and gives a verdict.

Layers run cheapest first (intake, quick, hidden, suite, quality) and stop at the first that decides. What happens
inside the candidate's own jail is the candidate's failure; only a host fault is `infra`, carries no reward and is
masked. `verdicts` says what a verdict holds, `rewards` what it is worth.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from appliance import audits, quality
from appliance.errors import NotFoundError, SandboxError, UsageError
from appliance.examination import Examination, Finding, Layer, Opener
from appliance.kinds import load_kind
from appliance.leash import Leash
from appliance.manifest import LinkFound, walk
from appliance.nouns import Task, Verdict
from appliance.pace import Pace
from appliance.sandbox.client import Jails
from appliance.verdicts import asked, conclude, status
from appliance.yard import Yard

MAX_FILES = 64


class Judge:
    """Judges submissions in jails of `yard`; safe to call from many threads."""

    def __init__(self, yard: Yard, clock: Callable[[], float] = time.monotonic) -> None:
        self._yard = yard
        self._clock = clock
        self._pace = Pace()

    def judge(
        self,
        task: Task,
        artefacts: Mapping[str, bytes],
        *,
        seed: int = 0,
        leash: Leash | None = None,
        flaky: Iterable[tuple[str, int]] = (),
    ) -> Verdict:
        """The verdict on `artefacts` as a submission for `task`; `seed` draws all that is random about it.

        `leash` holds the jails, so that they can be ended: the verdict is worth nothing then. TaskError when the image
        that the task names is not there. `flaky`: hidden cases, by layer and number, that have no weight.
        """
        kind, yard = load_kind(task.kind), self._yard.of(task)
        jails = leash.around(yard) if leash else yard
        started = self._clock()
        finding = intake(kind, task, artefacts)
        intake_s = self._clock() - started
        examination = (
            _undone(kind, task, finding) if finding else self._examine(kind, task, artefacts, jails, seed)
        ).without(flaky)
        seconds: dict[Layer, float] = {"intake": intake_s, **examination.seconds}
        spec = asked(task)
        found = None
        if spec and status(examination) == "pass":
            examination, found = self._measure(spec, task, artefacts, jails, seed, examination)
            seconds["quality"] = found.seconds if found else 0.0
        saved_s = self._pace.saved_s(task, seconds)
        cost = {**examination.cost, "judge_s": self._clock() - started, **saved_s}
        return conclude(task, artefacts, examination, seconds, cost, seed=seed, spec=spec, quality=found)

    def audit(
        self,
        task: Task,
        artefacts: Mapping[str, bytes],
        verdict: Verdict,
        watch: audits.Watch,
        *,
        seed: int = 0,
    ) -> Verdict:
        """`verdict` with what a second examination under trace has seen; status and reward stay what they are.

        As it was where no jail was needed for it, or the host failed.
        """
        kind = load_kind(task.kind)
        if verdict.masked or intake(kind, task, artefacts):
            return verdict
        jails = self._yard.of(task)
        if not isinstance(jails, Jails):
            return replace(
                verdict, audit=audits.failed("a jailer's jails cannot be audited in a conversation")
            )
        with watch(jails) as watched:
            examination = self._examine(kind, task, artefacts, watched, seed)
            finding = examination.finding
            if finding and finding.status == "infra":
                # Told as such and not measured: what could not be seen must not look like what is clean.
                return replace(verdict, audit=audits.failed(finding.text))
            audit = audits.record(watched.read(), status(examination))
        signals = {**verdict.signals, audits.SIGNAL: audits.signal(audit)}
        return replace(verdict, audit=audit, signals=signals)

    def _measure(
        self,
        spec: quality.Spec,
        task: Task,
        artefacts: Mapping[str, bytes],
        jails: Opener,
        seed: int,
        examination: Examination,
    ) -> tuple[Examination, quality.Quality | None]:
        """What a task asks for of a right submission; a fault of the host becomes the examination's."""
        try:
            found = quality.measure(spec, task, artefacts, jails, seed, self._clock, tools=self._yard.tools)
        except SandboxError as error:
            return replace(examination, finding=Finding("infra", "quality", "sandbox", str(error))), None
        return examination, found

    def _examine(
        self, kind: ModuleType, task: Task, artefacts: Mapping[str, bytes], jails: Opener, seed: int
    ) -> Examination:
        started = self._clock()
        try:
            found: Examination = kind.examine(task, artefacts, jails, seed, self._clock)
        except SandboxError as error:
            finding = Finding("infra", "quick", "sandbox", str(error))
            return _undone(kind, task, finding, {"quick": self._clock() - started})
        return found


def intake(kind: ModuleType, task: Task, artefacts: Mapping[str, bytes]) -> Finding | None:
    """Decide what can be decided without running anything: names and sizes here, content by the kind."""
    cap = int(task.settings["budgets"]["source_kb"]) * 1024
    if len(artefacts) > MAX_FILES:
        return Finding(
            "candidate_resource", "intake", "too_many_files", f"{len(artefacts)}, the cap is {MAX_FILES}"
        )
    for name in sorted(artefacts):
        if not is_plain(name) or not kind.accepts(task, name):
            return Finding("tamper", "intake", "forbidden_file", name)
    for name, body in sorted(artefacts.items()):
        if len(body) > cap:
            text = f"{name}: {len(body)} bytes, the cap is {cap}"
            return Finding("candidate_resource", "intake", "too_large", text)
    found: Finding | None = kind.intake(task, artefacts)
    return found


def is_plain(name: str) -> bool:
    """Whether a name stays below the folder it is put in, and means the same to every program."""
    parts = name.split("/")
    return (
        name.isprintable() and not {"", ".", ".."} & set(parts) and all(len(p.encode()) < 256 for p in parts)
    )


def _undone(
    kind: ModuleType, task: Task, finding: Finding, seconds: Mapping[Layer, float] | None = None
) -> Examination:
    """The examination of a submission whose cases were never asked."""
    public, hidden = kind.totals(task)
    return Examination(public, hidden, finding=finding, seconds=seconds or {})


def read_submission(path: Path, task: Task) -> dict[str, bytes]:
    """A file or folder as artefacts. A single file stands for the one that the kind calls `lone`.

    Nothing is judged here: a name or size that the task does not allow is for the intake layer to refuse.
    """
    if path.is_dir():
        try:
            files = {found.relative_to(path).as_posix(): found for found in walk(path)}
        except LinkFound as link:
            raise UsageError(f"{link.path} is not a regular file", remedy="submit files only") from None
        except OSError as error:
            raise UsageError(
                f"{path}: {error.strerror}", remedy="submit only what the task asks for"
            ) from None
    else:
        files = {load_kind(task.kind).lone(task): path}
    if len(files) > MAX_FILES:
        raise UsageError(
            f"{path} holds more than {MAX_FILES} files", remedy="submit only what the task asks for"
        )
    cap = int(task.settings["budgets"]["source_kb"]) * 1024
    return {name: _read_regular(file, cap) for name, file in sorted(files.items())}


def _read_regular(path: Path, cap: int) -> bytes:
    """At most one byte over the cap, so that intake sees the excess, and never through a pipe or device."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise NotFoundError(f"{path}: {error.strerror}", remedy="give a file or a folder to judge") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UsageError(f"{path} is not a regular file", remedy="give a file or a folder to judge")
        return file.read(cap + 1)
