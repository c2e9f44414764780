"""The records of the queue: what is asked for, a job as it stands, who claims it, how an attempt at it ended."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from appliance.errors import StoreError, UsageError

CLASSES = ("interactive", "judge", "attempt", "evaluate", "admit", "housekeeping")
"""The classes of jobs, the most urgent first; each has its own Huey queue and its own threads."""

POOLS = {
    "interactive": "jails",
    "judge": "jails",
    "admit": "jails",
    "housekeeping": "jails",
    "attempt": "model",
    "evaluate": "model",
}
"""Which threads work on a class: those that keep the cores busy with jails, or those that wait for the model. The
classes of a pool share its threads by weight."""

WEIGHTS = {
    "interactive": 8.0,
    "judge": 4.0,
    "attempt": 4.0,
    "evaluate": 2.0,
    "admit": 1.0,
    "housekeeping": 0.5,
}
"""Shares of a pool, in estimated CPU seconds, while several of its classes have jobs waiting."""

DEPTHS = {
    "interactive": 1_000,
    "judge": 100_000,
    "attempt": 100_000,
    "evaluate": 100_000,
    "admit": 20_000,
    "housekeeping": 1_000,
}
"""How many jobs of a class may wait; more are refused, with how long to wait."""

SHORT_S = 1.0
"""A job of at most this cost may use the reserved slots. The index `jobs_short` knows the number too."""

INFRASTRUCTURE_KINDS = frozenset({"sandbox", "engine", "learner", "store", "lost"})
"""Kinds of errors that are the host's, whoever's job met them."""

JobState = Literal["queued", "leased", "done", "failed", "cancelled", "expired"]
OPEN_STATES: frozenset[str] = frozenset({"queued", "leased"})

Ending = Literal["done", "failed", "retried", "lost", "released", "deferred", "cancelled"]
"""How one attempt at a job ended; `retried`, `lost`, `released` and `deferred` can leave the job queued."""

MAX_JSON_BYTES = 16 * 1024 * 1024
"""Largest payload or result. Anything larger belongs in `objects/`, with its hash here."""


class Busy(StoreError):
    """A submission refused because too much of its class waits; `retry_after_s` says when there will be room."""

    def __init__(self, class_: str, queued: int, retry_after_s: float) -> None:
        super().__init__(
            f"{queued} jobs of class {class_} wait already", remedy=f"submit again in {retry_after_s:.0f} s"
        )
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Request:
    """A job to be queued. `key`: a second request with it returns the first job, in whatever state that is."""

    class_: str
    payload: Mapping[str, Any]
    key: str | None = None
    priority: int = 0
    """Higher goes first within a class; equals go in order of submission."""
    group: str = ""
    deadline_s: float | None = None
    """A job not started this many seconds after its submission expires."""
    max_attempts: int = 3
    label: str = ""
    """Jobs of one class and label take about as long as each other, as those that judge one task do. Of a submission,
    those expected to take longest start first."""
    cost_s: float | None = None
    """CPU seconds it will take; by default what jobs of its label took before, else `SHORT_S`."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job as it stood when it was read."""

    id: str
    class_: str
    group: str
    key: str | None
    state: JobState
    priority: int
    payload: Mapping[str, Any]
    attempts: int
    max_attempts: int
    not_before: float
    deadline: float | None
    owner: str | None
    token: int
    submitted: float
    started: float | None
    finished: float | None
    result: dict[str, Any] | None
    error_kind: str
    error: str
    label: str = ""
    cost_s: float = SHORT_S
    long: bool = False
    """It went over the time of a first try, and has its own now."""
    copy_of: str | None = None
    """The job that this one is a hedge for."""

    @property
    def open(self) -> bool:
        return self.state in OPEN_STATES


@dataclass(frozen=True, slots=True)
class Claimant:
    """Who claims, when (`now`, Unix) and until when without a heartbeat (`lease_until`, monotonic)."""

    owner: str
    now: float
    lease_until: float


@dataclass(frozen=True, slots=True)
class Report:
    """How an attempt ended and what becomes of the job. `not_before` matters when it is queued again."""

    ending: Ending
    state: JobState
    not_before: float = 0.0
    result: str | None = None
    error_kind: str = ""
    error: str = ""
    trace: str = ""
    seconds: float = 0.0
    """How long it took, of which `start_s` until the work began and `teardown_s` after it, as the handler tells."""
    start_s: float = 0.0
    teardown_s: float = 0.0
    cost_s: float | None = None
    """CPU seconds it took; None: not known, taken to be `seconds`."""


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def to_json(value: Mapping[str, Any]) -> str:
    """Canonical JSON of a payload or a result. Raises UsageError when it is not JSON or too large."""
    try:
        text = _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"a job carries JSON only: {error}", remedy="convert it before submitting") from None
    if len(text) > MAX_JSON_BYTES:
        raise UsageError(
            f"a job carries {len(text)} bytes, {MAX_JSON_BYTES} allowed",
            remedy="store it in objects/ and send its hash",
        )
    return text
