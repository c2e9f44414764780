"""Judging an attempt again: the same submission, the same seed, and the task as it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from appliance.errors import IntegrityError, NotFoundError, UsageError
from appliance.judge import Judge
from appliance.nouns import Attempt, Task, Verdict

CORE = ("public_share", "hidden_share")


@dataclass(frozen=True, slots=True)
class Replay:
    """Two verdicts on one submission."""

    attempt_id: str
    before: Verdict
    after: Verdict

    @property
    def same(self) -> bool:
        """Whether status, reward, gates and shares agree; times and costs never do."""
        return not self.differences()

    @property
    def same_verifier(self) -> bool:
        return self.before.verifier_hash == self.after.verifier_hash

    def differences(self) -> dict[str, tuple[Any, Any]]:
        """Of each field that differs, what it was and what it is."""
        was, now = _decided(self.before), _decided(self.after)
        return {name: (was.get(name), now.get(name)) for name in was | now if was.get(name) != now.get(name)}


def _decided(verdict: Verdict) -> dict[str, Any]:
    shares = {name: signal.raw for name, signal in verdict.signals.items() if name in CORE}
    return {"status": verdict.status, "reward": verdict.reward, "gates": dict(verdict.gates), **shares}


def rejudge(judge: Judge, attempt: Attempt, before: Verdict | None, find: Callable[[str], Task]) -> Replay:
    """Judge an attempt again. `find` gives the task of a key.

    UsageError for an attempt without a verdict, IntegrityError when the task is not what it was.
    """
    if before is None:
        raise UsageError(f"attempt {attempt.id} has no verdict yet", remedy="wait until it is judged")
    task = find(attempt.task_key)
    if task.task_hash != attempt.task_hash:
        raise IntegrityError(
            f"the task {task.key} in {task.folder} is not what it was when the attempt was made",
            remedy="restore that version of its pack",
        )
    artefacts = {name: text.encode() for name, text in attempt.artefacts.items()}
    return Replay(attempt.id, before, judge.judge(task, artefacts, seed=before.seed))


def among(tasks: Mapping[str, Task]) -> Callable[[str], Task]:
    """A finder over these tasks; NotFoundError."""

    def find(key: str) -> Task:
        if key not in tasks:
            raise NotFoundError(f"no task {key!r} in the packs of the run", remedy="restore its pack")
        return tasks[key]

    return find
