"""The judge: turns what a kind measured into a verdict.

Layers run cheapest first (intake, quick, hidden) and stop at the first that decides. The reward is
gates × core, rounded down to a step of 0.05. What happens inside the candidate's own jail is the candidate's
failure; only a host fault is `infra`, carries no reward and is masked. Evidence says which case failed and how,
with the candidate's answer capped and escaped; an expected value is never written down. Evidence is for the
operator: it must not be shown to a policy.
"""

from __future__ import annotations

import functools
import math
import os
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from appliance import __version__, audits, values
from appliance.clean import clean_text
from appliance.errors import NotFoundError, SandboxError, UsageError
from appliance.examination import Examination, Finding, Layer, Opener
from appliance.leash import Leash
from appliance.manifest import LinkFound, bytes_hash, walk
from appliance.nouns import MASKED_STATUSES, Signal, Task, Verdict, VerdictStatus
from appliance.sandbox.client import Jails
from appliance.tasks import load_kind
from appliance.yard import Yard

REWARD_STEPS = 20
"""Rewards are multiples of 1/20, so that noise cannot become an advantage."""
TEXT_CAP = 400
EVIDENCE_CAP = 32
MAX_FILES = 64

_LAYERS: tuple[Layer, ...] = get_args(Layer)


class Judge:
    """Judges submissions in jails of `yard`; safe to call from many threads."""

    def __init__(self, yard: Yard, clock: Callable[[], float] = time.monotonic) -> None:
        self._yard = yard
        self._clock = clock

    def judge(
        self, task: Task, artefacts: Mapping[str, bytes], *, seed: int = 0, leash: Leash | None = None
    ) -> Verdict:
        """The verdict on `artefacts` as a submission for `task`; `seed` draws the order of hidden cases.

        `leash` holds the jails, so that they can be ended: the verdict is worth nothing then. TaskError when the image
        that the task names is not there.
        """
        kind, yard = load_kind(task.kind), self._yard.of(task)
        jails = leash.around(yard) if leash else yard
        started = self._clock()
        finding = intake(kind, task, artefacts)
        intake_s = self._clock() - started
        examination = (
            _undone(kind, task, finding) if finding else self._examine(kind, task, artefacts, jails, seed)
        )
        cost = {**examination.cost, "judge_s": self._clock() - started}
        return conclude(task, artefacts, examination, {"intake": intake_s, **examination.seconds}, cost)

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
            audit = audits.record(watched.read(), _status(examination))
        signals = {**verdict.signals, audits.SIGNAL: audits.signal(audit)}
        return replace(verdict, audit=audit, signals=signals)

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
        if not _is_plain(name) or not kind.accepts(task, name):
            return Finding("tamper", "intake", "forbidden_file", name)
    for name, body in sorted(artefacts.items()):
        if len(body) > cap:
            text = f"{name}: {len(body)} bytes, the cap is {cap}"
            return Finding("candidate_resource", "intake", "too_large", text)
    found: Finding | None = kind.intake(task, artefacts)
    return found


def _is_plain(name: str) -> bool:
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


def conclude(
    task: Task,
    artefacts: Mapping[str, bytes],
    examination: Examination,
    seconds: Mapping[Layer, float],
    cost: Mapping[str, float],
) -> Verdict:
    """The record of an examination: status, gates, reward and what they rest on."""
    status = _status(examination)
    gates = {**examination.gates, **_gates(examination.finding)}
    signals = {**examination.signals, **_signals(examination)}
    core = _core(signals["hidden_share"].value, task.settings.get("core", "binary"), examination.chance)
    return Verdict(
        task=task.key,
        status=status,
        reward=None if status in MASKED_STATUSES else reward(gates, core),
        signals=signals,
        gates=gates,
        layers=_layers(examination, seconds),
        evidence=_evidence(examination),
        cost=cost,
        task_hash=task.task_hash,
        verifier_hash=verifier_hash(task.kind),
        artefact_hash=bytes_hash(artefacts),
    )


def _status(examination: Examination) -> VerdictStatus:
    if examination.finding is not None:
        return examination.finding.status
    complete = examination.public_passed == examination.public_total
    complete = complete and examination.hidden_passed == examination.hidden_total
    return "pass" if complete and all(examination.gates.values()) else "fail"


def _gates(finding: Finding | None) -> dict[str, bool]:
    """Each gate closes for one family of reasons; an open gate earns nothing."""
    status = "pass" if finding is None else finding.status
    return {
        "integrity": status != "tamper",
        "protocol": status != "candidate_protocol",
        "limits": status not in ("candidate_timeout", "candidate_resource"),
        "loads": status != "fail",
    }


def _signals(examination: Examination) -> dict[str, Signal]:
    public, hidden = examination.public_passed, examination.hidden_passed
    return {
        "public_share": Signal(float(public), public / examination.public_total, 0.0, "monitor"),
        "hidden_share": Signal(float(hidden), hidden / examination.hidden_total, 1.0, "core"),
    }


def _core(hidden_share: float, mode: str, chance: float) -> float:
    """All or nothing by default. `graded` squares the share, so that easy cases alone pay little; where a guess is
    right by chance, it rescales the share instead, so that guessing pays nothing."""
    if mode != "graded":
        return float(hidden_share == 1.0)
    return max(0.0, (hidden_share - chance) / (1.0 - chance)) if chance else hidden_share**2


def reward(gates: Mapping[str, bool], core: float) -> float:
    """Gates times core, rounded down: only a complete solution can reach 1."""
    if not all(gates.values()):
        return 0.0
    return math.floor(core * REWARD_STEPS + 1e-9) / REWARD_STEPS


def _layers(examination: Examination, seconds: Mapping[Layer, float]) -> tuple[Mapping[str, Any], ...]:
    """The layers that ran, in order; the last of them decided."""
    ran = [name for name in _LAYERS if name in seconds]
    return tuple({"name": name, "decided": name == ran[-1], "seconds": seconds[name]} for name in ran)


def _evidence(examination: Examination) -> tuple[Mapping[str, Any], ...]:
    found: list[Mapping[str, Any]] = []
    if finding := examination.finding:
        text = _shown(finding.text)
        found.append({"layer": finding.layer, "outcome": finding.outcome, "text": text})
    for failed in (outcome for outcome in examination.outcomes if not outcome.correct):
        got = _shown(failed.got)
        found.append({"layer": failed.layer, "case": failed.case, "outcome": failed.outcome, "got": got})
    return tuple(found[:EVIDENCE_CAP])


def _shown(text: str) -> str:
    """Candidate text, escaped and capped; cut first, so that a long text costs nothing."""
    return clean_text(text[: 4 * TEXT_CAP], TEXT_CAP)


@functools.cache
def verifier_hash(kind: str) -> str:
    """What judged: the verifier's own source files and the version of the appliance."""
    package = Path(values.__file__).parent
    names = ["judge.py", "dialogue.py", "examination.py", "values.py", f"kinds/{kind}.py"]
    names += sorted(path.relative_to(package).as_posix() for path in package.glob(f"kinds/{kind}_*.py"))
    files = {name: (package / name).read_bytes() for name in names}
    return bytes_hash({**files, "version": __version__.encode()})


def read_submission(path: Path, task: Task) -> dict[str, bytes]:
    """A file or folder as artefacts. A single file stands for the one that the kind calls `lone`.

    Nothing is judged here: a name or size that the task does not allow is for the intake layer to refuse.
    """
    if path.is_dir():
        try:
            files = {found.relative_to(path).as_posix(): found for found in walk(path)}
        except LinkFound as link:
            raise UsageError(f"{link.path} is not a regular file", remedy="submit files only") from None
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
