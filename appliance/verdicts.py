"""The record of an examination: status, gates, reward and what they rest on.

Evidence says which case failed and how, with the candidate's answer capped and escaped; an expected value is never
written down. It is for the operator and must not be shown to a policy.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from appliance import __version__, values
from appliance.clean import clean_text
from appliance.examination import Examination, Finding, Layer
from appliance.manifest import bytes_hash
from appliance.nouns import MASKED_STATUSES, Signal, Task, Verdict, VerdictStatus
from appliance.quality import TABLE, Quality, Spec, blended, fingerprint, read
from appliance.rewards import core, reward

TEXT_CAP = 400
EVIDENCE_CAP = 32
LAYERS: tuple[Layer, ...] = get_args(Layer)


NOTHING_ASKED = Spec()
NOTHING_MEASURED = Quality({}, {}, (), {}, 0.0, {})


def status(examination: Examination) -> VerdictStatus:
    """What the examination says before the quality of the work is looked at."""
    if examination.finding is not None:
        return examination.finding.status
    complete = examination.public_passed == examination.public_total
    complete = complete and examination.hidden_passed == examination.hidden_total
    return "pass" if complete and all(examination.gates.values()) else "fail"


def conclude(
    task: Task,
    artefacts: Mapping[str, bytes],
    examination: Examination,
    seconds: Mapping[Layer, float],
    cost: Mapping[str, float],
    *,
    seed: int = 0,
    spec: Spec = NOTHING_ASKED,
    quality: Quality | None = None,
) -> Verdict:
    """The verdict on an examination; `seconds` by layer. `quality` is what was measured of what `spec` asks for."""
    quality = quality or NOTHING_MEASURED
    gates = {**examination.gates, **quality.gates, **_gates(examination.finding)}
    decided = status(examination)
    if decided == "pass" and not all(gates.values()):
        decided = "fail"
    hidden_share = examination.hidden_passed / examination.hidden_total
    complete = core(hidden_share, task.settings.get("core", "binary"), examination.guess)
    measured = spec if quality.signals else NOTHING_ASKED
    worth = blended(spec if complete < 1.0 else measured, complete, quality.signals)
    return Verdict(
        task=task.key,
        status=decided,
        reward=None if decided in MASKED_STATUSES else reward(gates, worth),
        signals={**examination.signals, **quality.signals, **_signals(examination)},
        gates=gates,
        layers=_layers(examination, seconds),
        evidence=_evidence(examination, quality),
        cost=cost,
        task_hash=task.task_hash,
        verifier_hash=verifier_of(task),
        artefact_hash=bytes_hash(artefacts),
        env_hash=task.env_hash,
        seed=seed,
    )


def _gates(finding: Finding | None) -> dict[str, bool]:
    """Each gate closes for one family of reasons; an open gate earns nothing."""
    decided = "pass" if finding is None else finding.status
    return {
        "integrity": decided != "tamper",
        "protocol": decided != "candidate_protocol",
        "limits": decided not in ("candidate_timeout", "candidate_resource"),
        "loads": decided != "fail",
    }


def _signals(examination: Examination) -> dict[str, Signal]:
    public, hidden = examination.public_passed, examination.hidden_passed
    return {
        "public_share": Signal(float(public), public / max(1, examination.public_total), 0.0, "monitor"),
        "hidden_share": Signal(float(hidden), hidden / examination.hidden_total, 1.0, "core"),
    }


def _layers(examination: Examination, seconds: Mapping[Layer, float]) -> tuple[Mapping[str, Any], ...]:
    """The layers that ran, in order; the last of them decided."""
    ran = [name for name in LAYERS if name in seconds]
    return tuple({"name": name, "decided": name == ran[-1], "seconds": seconds[name]} for name in ran)


def _evidence(examination: Examination, quality: Quality) -> tuple[Mapping[str, Any], ...]:
    return tuple(_found(examination, quality))[:EVIDENCE_CAP]


def _found(examination: Examination, quality: Quality) -> Iterable[Mapping[str, Any]]:
    if finding := examination.finding:
        yield {"layer": finding.layer, "outcome": finding.outcome, "text": _shown(finding.text)}
    for failed in (outcome for outcome in examination.outcomes if not outcome.correct):
        yield {
            "layer": failed.layer,
            "case": failed.case,
            "outcome": failed.outcome,
            "got": _shown(failed.got),
        }
    yield from quality.findings


def _shown(text: str) -> str:
    """Candidate text, escaped and capped; cut first, so that a long text costs nothing."""
    return clean_text(text[: 4 * TEXT_CAP], TEXT_CAP)


def asked(task: Task) -> Spec:
    """What a task asks for of a right submission."""
    return read(task.settings.get(TABLE), task.key)


def verifier_of(task: Task) -> str:
    """The hash of what judges a task."""
    return verifier_hash(task.kind, fingerprint(asked(task)))


def verifier_now(kind: str, spec: Spec) -> str:
    """The hash of what judges tasks of a kind that ask for this, as its files are on the disk at this moment."""
    return verifier_hash.__wrapped__(kind, fingerprint(spec))


@functools.cache
def verifier_hash(kind: str, quality: str = "") -> str:
    """What judged: the verifier's own source files, the version of the appliance, the fingerprint of what measures."""
    package = Path(values.__file__).parent
    names = ["judge.py", "verdicts.py", "rewards.py", "dialogue.py", "examination.py", "values.py"]
    names += ["orders.py", "trial.py"]
    # The frames of the function worker are those of other workers too.
    parts = (f"kinds/{kind}.py", f"kinds/{kind}_*.py", "kinds/function_worker.py", "kinds/function_cases.py")
    names += sorted(path.relative_to(package).as_posix() for part in parts for path in package.glob(part))
    files = {name: (package / name).read_bytes() for name in names}
    return bytes_hash({**files, "version": __version__.encode(), "quality": quality.encode()})
