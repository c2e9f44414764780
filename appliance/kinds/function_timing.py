"""How long a `function` submission takes: the CPU time of one examination of all its cases in a new jail.

A kind that can be timed has such a module, `kind_timing`, with two names:

- `timing(task, artefacts, jails, seed) -> Timed`: one run. The order of its inputs, and those that are made at random,
  are drawn from `seed`; none is asked twice, so that nothing is won by remembering. Every answer is compared, as
  ever: a fast wrong one is broken.
- `idle(task)`: a submission that can be asked and does nothing, for what the jail itself costs.

The time is that of the jail's cgroup from its start to its end. What the candidate says about time is not asked for.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from appliance.examination import Opener
from appliance.kinds import function
from appliance.nouns import Task
from appliance.signals.performance import Timed


def timing(task: Task, artefacts: Mapping[str, bytes], jails: Opener, seed: int) -> Timed:
    """CPU seconds of one run. SandboxError is the host's failure."""
    found = function.examine(task, artefacts, jails, seed, time.monotonic)
    right = found.public_passed == found.public_total and found.hidden_passed == found.hidden_total
    if found.finding is not None:
        return Timed(found.cost.get("cpu_s"), found.finding.outcome, infra=found.finding.status == "infra")
    return Timed(found.cost.get("cpu_s"), "" if right else "a wrong answer")


def idle(task: Task) -> Mapping[str, bytes]:
    """Defines what is called, and no more."""
    source = f"def {task.entry_point}(*args, **kwargs):\n    return None\n"
    return {function.lone(task): source.encode()}
