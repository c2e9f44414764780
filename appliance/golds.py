"""The gold control: in a share of the groups the task's own solution is judged like the attempts, and must pass.

When it does not, the task or the machine is at fault and not the policy: every verdict of that group becomes
`task_broken`, which is masked, so that nothing is learnt from it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from appliance.controls import passing
from appliance.judge import Judge
from appliance.nouns import Task, Verdict
from appliance.seal import Seal

SHARE = 0.02
"""Of the groups."""
_SCALE = 1 << 63


class GoldControl:
    """Judges the gold solution once for each group that is drawn; safe to use from many threads."""

    def __init__(
        self, judge: Judge, seal: Seal, tell: Callable[[str, Task, Verdict], None], share: float = SHARE
    ) -> None:
        """`tell` hears of every group whose gold failed: the group, the task and the gold's verdict."""
        self._judge, self._seal, self._tell, self._share = judge, seal, tell, share
        self._lock = threading.Lock()
        self._groups: dict[str, _Once] = {}

    def check(self, group_id: str, task: Task, verdict: Verdict) -> Verdict:
        """The verdict of an attempt of the group, or `task_broken` where the gold of its task failed."""
        if not self._takes(group_id) or verdict.masked:
            return verdict
        with self._lock:
            once = self._groups.setdefault(group_id, _Once())
        with once.lock:
            if once.verdict is None:
                once.verdict = self._gold(task, verdict.seed)
                if _failed(once.verdict):
                    self._tell(group_id, task, once.verdict)
        return broken(verdict, once.verdict) if _failed(once.verdict) else verdict

    def _takes(self, group_id: str) -> bool:
        """The same answer for a group, however often it is judged."""
        return self._seal.number("gold", group_id) < self._share * _SCALE

    def _gold(self, task: Task, seed: int) -> Verdict:
        return self._judge.judge(task, passing(task), seed=seed)


class _Once:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.verdict: Verdict | None = None


def _failed(gold: Verdict) -> bool:
    """A fault of the host says nothing about the task."""
    return gold.status not in ("pass", "infra")


def broken(verdict: Verdict, gold: Verdict) -> Verdict:
    """The verdict of an attempt at a task whose own solution got `gold`."""
    text = f"the gold solution of the task got {gold.status}"
    evidence = {"layer": "audit", "outcome": "gold_failed", "text": text}
    return replace(verdict, status="task_broken", reward=None, evidence=(evidence, *verdict.evidence))
