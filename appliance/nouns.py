"""The frozen records every room speaks in.

Text is always derived from token ids, never the other way round. Anything a model or a jail wrote is bytes or
untrusted text here; `appliance.clean` makes it fit for a terminal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

SCHEMA_VERSION = 1

Purpose = Literal["train", "eval", "canary"]
"""Why an attempt was made: `eval` tokens never enter an update."""

StopReason = Literal["stop", "end_of_text", "max_tokens", "context_full", "cancelled", "error"]
"""Why sampling ended: stop string, end token, token limit, context window, cancel or failure."""

VerdictStatus = Literal[
    "pass",
    "fail",
    "candidate_timeout",
    "candidate_resource",
    "candidate_protocol",
    "tamper",
    "infra",
    "task_broken",
]
"""Decided, the candidate's own failure, or (the last two) the host's: those are masked, without a reward."""

MASKED_STATUSES: frozenset[str] = frozenset({"infra", "task_broken"})

SignalRole = Literal["core", "secondary", "gate", "monitor"]


@dataclass(frozen=True, slots=True)
class Task:
    """One task folder, read and hashed. Hidden material stays on disk; only the judge opens it."""

    key: str
    """Stable identity, `pack/name`."""
    pack: str
    kind: str
    split: Literal["train", "eval", "canary"]
    """`canary` tasks cannot be solved honestly: a pass says that a verifier or a policy cheats."""
    tier: Literal["easy", "core", "hard"]
    cluster: str
    """Tasks that share an idea share a cluster; a cluster lies wholly in one split."""
    folder: str
    statement: str
    """What is asked, in prose (`instruction.md`)."""
    start: str
    """The untouched start the candidate continues, for instance `environment/solution.py`; empty where it gets a
    whole folder, or nothing."""
    entry_point: str
    """What is called, of a task whose kind calls something."""
    task_hash: str
    public_hash: str
    hidden_hash: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The kind's own table of `pool.toml`, checked by the kind."""
    image: str = ""
    """Digest of the image that the candidate's jail starts from; empty is the default one."""
    env_hash: str = ""
    """What the candidate finds around it: the files of `environment/` and the image."""
    family: str = ""
    """What one template, generator or source made; the cluster where nothing else is said."""
    author: str = ""
    version: str = "1.0.0"
    """a.b.c: a statement or interface, b hidden tests or oracle, c everything else."""
    canary: str = ""
    """A GUID that marks copies of a task that is not trained on; empty where its folder names none."""


class Listed(Protocol):
    """What a task and its card have in common: all that is asked before its files are opened."""

    @property
    def key(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def split(self) -> str: ...
    @property
    def tier(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def folder(self) -> str: ...
    @property
    def image(self) -> str: ...
    @property
    def task_hash(self) -> str: ...


class Card(NamedTuple):
    """What a pool keeps in memory of a task, of which it may have a hundred thousand: fields as in `Task`."""

    key: str
    kind: str
    split: str
    tier: str
    cluster: str
    family: str
    folder: str
    image: str
    task_hash: str
    quality: str
    """The table `[quality]` of its `pool.toml` as JSON, empty where there is none; with the kind, what judges it."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn. `temperature` divides the logits before the softmax; 0 means greedy."""

    temperature: float = 1.0
    max_tokens: int = 64
    stop: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Sampling:
        return cls(data["temperature"], data["max_tokens"], tuple(data["stop"]))


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of token ids of one origin. `logprobs` has one entry per sampled id, else is empty."""

    origin: Literal["prompt", "sampled", "observation"]
    ids: tuple[int, ...]
    logprobs: tuple[float, ...] = ()
    policy_version: str = ""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Segment:
        return cls(data["origin"], tuple(data["ids"]), tuple(data["logprobs"]), data["policy_version"])


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a task by a policy; complete in itself."""

    id: str
    run_id: str
    group_id: str
    step: int
    purpose: Purpose
    task_key: str
    task_hash: str
    index: int
    """Position within the group, from 0."""
    harness: str
    policy_version: str
    engine_build: str
    seed: int
    sampling: Sampling
    segments: tuple[Segment, ...]
    stop_reason: StopReason
    artefacts: Mapping[str, str]
    """File name to text: what the judge is given."""
    generate_s: float = 0.0
    schema: int = SCHEMA_VERSION

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Attempt:
        fields = dict(data)
        fields["sampling"] = Sampling.from_json(fields["sampling"])
        fields["segments"] = tuple(Segment.from_json(part) for part in fields["segments"])
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Signal:
    """One measured quantity of a verdict: `raw` in its own unit, `value` in [0, 1]."""

    raw: float
    value: float
    weight: float
    role: SignalRole


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the judge found. `reward` is None exactly when the status is masked."""

    task: str
    status: VerdictStatus
    reward: float | None
    signals: Mapping[str, Signal]
    gates: Mapping[str, bool]
    layers: tuple[Mapping[str, Any], ...]
    """Per layer run: name, decided (bool), seconds."""
    evidence: tuple[Mapping[str, Any], ...]
    cost: Mapping[str, float]
    task_hash: str
    verifier_hash: str
    artefact_hash: str
    env_hash: str = ""
    seed: int = 0
    """What all that was random about it was drawn from."""
    audit: Mapping[str, Any] | None = None
    """What was seen of a sampled submission under trace; never a reason for the reward."""

    @property
    def masked(self) -> bool:
        return self.status in MASKED_STATUSES

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        fields = dict(data)
        fields["signals"] = {name: Signal(**signal) for name, signal in fields["signals"].items()}
        fields["layers"] = tuple(fields["layers"])
        fields["evidence"] = tuple(fields["evidence"])
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Sample:
    """What the learner sees of an attempt: ids in, sampled ids and log-probabilities, one advantage."""

    attempt_id: str
    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Log-probability of each completion id under the distribution it was drawn from."""
    advantage: float
    policy_version: str


@dataclass(frozen=True, slots=True)
class Event:
    """One link of the append-only chain: who did what, when."""

    seq: int
    time: float
    run_id: str
    kind: str
    actor: int
    """Numeric uid of the caller."""
    data: Mapping[str, Any]
    previous: str
    hash: str
