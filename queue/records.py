"""The records of the queue: what is asked for, a job as it stands, who claims it, how an attempt at it ended."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from appliance.errors import UsageError

CLASSES = ("interactive", "judge", "attempt", "evaluate", "admit", "housekeeping")
"""The classes of jobs, the most urgent first; each has its own Huey queue and its own threads."""

JobState = Literal["queued", "leased", "done", "failed", "cancelled", "expired"]
OPEN_STATES: frozenset[str] = frozenset({"queued", "leased"})

Ending = Literal["done", "failed", "retried", "lost", "released", "cancelled"]
"""How one attempt at a job ended; `retried`, `lost` and `released` can leave the job queued."""

MAX_JSON_BYTES = 16 * 1024 * 1024
"""Largest payload or result. Anything larger belongs in `objects/`, with its hash here."""


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


def to_json(value: Mapping[str, Any]) -> str:
    """Canonical JSON of a payload or a result. Raises UsageError when it is not JSON or too large."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"a job carries JSON only: {error}", remedy="convert it before submitting") from None
    if len(text) > MAX_JSON_BYTES:
        raise UsageError(
            f"a job carries {len(text)} bytes, {MAX_JSON_BYTES} allowed",
            remedy="store it in objects/ and send its hash",
        )
    return text
