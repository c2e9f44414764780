"""What a task kind reports to the judge: measured outcomes, never a verdict.

A kind asks the candidate questions and writes down what came back. Status, gates, reward and the record are the
judge's. The denominators come from the task, so that a case which was never reached counts as failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from appliance.nouns import Signal, Task, VerdictStatus
from appliance.sandbox.client import Collection, CollectLimits, JailResult, JailStatus, Peer, Snapshot
from appliance.sandbox.policy import Limits, Policy

Layer = Literal["intake", "quick", "hidden", "suite", "quality", "audit"]
"""Cheapest first. `quick`: what the candidate may see. `suite`: tests that run in a jail of their own."""

DEFAULT_BUDGETS: Mapping[str, float] = {
    "cpu_s": 2.0,
    "wall_s": 6.0,
    "memory_mb": 256,
    "pids": 16,
    "disk_mb": 16,
    "output_kb": 256,
    "answer_kb": 256,
    "source_kb": 64,
}
"""`[budgets]` of pool.toml, each for one jail of the candidate: a `function` submission has one for all its cases, a
`stdio` or `shell` submission a fresh one for every case. Answer and source are per answer and per file."""

_ENDINGS: Mapping[JailStatus, VerdictStatus] = {
    JailStatus.timeout_cpu: "candidate_timeout",
    JailStatus.timeout_wall: "candidate_timeout",
    JailStatus.memory: "candidate_resource",
    JailStatus.processes: "candidate_resource",
    JailStatus.disk: "candidate_resource",
    JailStatus.output: "candidate_resource",
    JailStatus.denied: "tamper",
    JailStatus.infra: "infra",
}


class Seat(Protocol):
    """What a session is to a kind; see `appliance.sandbox.session`."""

    @property
    def broken(self) -> str: ...

    def run(
        self, command: Sequence[str], *, limits: Limits | None = None, stdin: bytes = b""
    ) -> JailResult: ...

    def snapshot(self) -> Snapshot: ...

    def artefacts(self, limits: CollectLimits | None = None) -> Collection: ...

    def stop(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Opener(Protocol):
    """Where a kind gets its jails from."""

    def open(
        self, command: Sequence[str], policy: Policy, *, files: Mapping[str, bytes] | None = None
    ) -> Peer: ...

    def run(
        self,
        command: Sequence[str],
        policy: Policy,
        *,
        files: Mapping[str, bytes] | None = None,
        stdin: bytes = b"",
    ) -> JailResult: ...

    def session(self, policy: Policy, start: Mapping[str, bytes] | Snapshot | None = None) -> Seat: ...


@dataclass(frozen=True, slots=True)
class Finding:
    """A reason that decides a submission before its cases do."""

    status: VerdictStatus
    layer: Layer
    outcome: str
    """One word, as it stands in the evidence."""
    text: str = ""
    """Candidate or jail text; the judge escapes and caps it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one case went. `got` is the candidate's answer; the expected value is never written down."""

    layer: Layer
    case: int
    """Position in its file, from 0."""
    outcome: str
    """One word, as it stands in the evidence; `correct` is the only good one."""
    got: str = ""
    """Candidate text; the judge escapes and caps it."""

    @property
    def correct(self) -> bool:
        return self.outcome == "correct"


@dataclass(frozen=True, slots=True)
class Examination:
    """Everything a kind measured about one submission."""

    public_total: int
    """Cases of the layer `quick`."""
    hidden_total: int
    """Cases of the layers `hidden` and `suite` together."""
    outcomes: tuple[Outcome, ...] = ()
    finding: Finding | None = None
    seconds: Mapping[Layer, float] = field(default_factory=dict)
    cost: Mapping[str, float] = field(default_factory=dict)
    guess: float = 0.0
    """The share of hidden cases that an answer by chance gets right."""
    gates: Mapping[str, bool] = field(default_factory=dict)
    """Of the kind: a closed one (False) takes the whole reward, an open one earns nothing."""
    signals: Mapping[str, Signal] = field(default_factory=dict)
    """Of the kind, for people to read: role `monitor`, no weight."""

    @property
    def public_passed(self) -> int:
        return self._correct(("quick",))

    @property
    def hidden_passed(self) -> int:
        return self._correct(("hidden", "suite"))

    def without(self, flaky: Iterable[tuple[str, int]]) -> Examination:
        """The same with no weight on flaky hidden cases, which are in neither the score nor the denominator.

        A task all of whose hidden cases are flaky keeps them: it is then not to be trusted at all.
        """
        left_out = {case for case in flaky if case[0] in ("hidden", "suite")}
        if not 0 < len(left_out) < self.hidden_total:
            return self
        kept = tuple(one for one in self.outcomes if (one.layer, one.case) not in left_out)
        return replace(self, outcomes=kept, hidden_total=self.hidden_total - len(left_out))

    def _correct(self, layers: tuple[Layer, ...]) -> int:
        return sum(outcome.correct for outcome in self.outcomes if outcome.layer in layers)


def limits(task: Task) -> Limits:
    """The limits of each jail in which a submission for `task` runs."""
    budgets: Mapping[str, Any] = task.settings["budgets"]
    return Limits(
        memory_mb=int(budgets["memory_mb"]),
        pids=int(budgets["pids"]),
        cpu_s=float(budgets["cpu_s"]),
        wall_s=float(budgets["wall_s"]),
        disk_mb=int(budgets["disk_mb"]),
        output_kb=int(budgets["output_kb"]),
    )


def jail_finding(result: JailResult, layer: Layer) -> Finding | None:
    """What the way a jail ended says by itself; None when it leaves the decision to the answers.

    Everything inside the candidate's own cgroup is the candidate's doing; only `infra`, and a worker that could
    not be executed (`denied` without a signal), are the host's.
    """
    status = _ENDINGS.get(result.status)
    if status is None:
        return None
    if result.status is JailStatus.denied and result.signal is None:
        status = "infra"
    return Finding(status, layer, str(result.status), result.detail)


def jail_cost(result: JailResult) -> dict[str, float]:
    """What a jail used, for the verdict's cost table."""
    cost = {"cpu_s": result.cpu_s, "wall_s": result.wall_s, "peak_mib": result.peak_mib}
    # What could not be measured is left out.
    return {name: used for name, used in cost.items() if used is not None}
