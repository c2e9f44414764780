"""What exporters of attempts are given: an attempt with its verdict and the texts around it."""

from __future__ import annotations

from dataclasses import dataclass

from appliance.nouns import Attempt, Task, Verdict


@dataclass(frozen=True, slots=True)
class Transcript:
    """One judged attempt at a task."""

    attempt: Attempt
    verdict: Verdict
    text: str
    """What the model wrote, derived from its token ids; untrusted."""
    created: float
    """Unix seconds."""
    task: Task | None = None
    """The task, where its pack is at hand and the task is still the one that was tried."""
