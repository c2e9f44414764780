"""`performance`: the CPU time of a submission against that of the gold.

Candidate, gold and a submission that does nothing take turns, each run in a new jail of the same policy with its own
order of inputs, and the smallest of several runs stands for each: noise only ever adds. The time is the cgroup's, of
everything that the jail did: no clock in the jail is asked, and what was done before the first question, in the
background or in another process counts. What doing nothing costs is taken from both.

Faster than the gold earns nothing more than as fast. Much faster than the gold, or not to be told from doing nothing
where the gold can be, is for a person to look at.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

from appliance import kinds
from appliance.errors import SandboxError
from appliance.nouns import Task
from appliance.signals import Exhibit, Reading, Remark, Wanted, not_applicable
from appliance.signals.kept_values import Kept

ROLES = ("secondary", "gate", "monitor")
OPTIONS: tuple[str, ...] = ()
TOOLS: tuple[str, ...] = ()
LANGUAGE = ""
ROUNDS = 6
"""Runs of each of the three; even, so that each comes first as often as last."""
DEAD_ZONE = 0.1
WORTHLESS_TIMES = 4.0
"""At so many times the gold's time the value is 0; EvalPlus ends a run there."""
IMPLAUSIBLE_TIMES = 5.0
LEAST_S = 0.004
LEAST_SHARE = 0.25
"""The gold must take so long, and so large a share of what doing nothing takes, beyond that: less is noise."""
KEPT_TASKS = 512
CONFIG = f"{ROUNDS} {DEAD_ZONE} {WORTHLESS_TIMES} {IMPLAUSIBLE_TIMES} {LEAST_S} {LEAST_SHARE}"

_known: Kept[str] = Kept(KEPT_TASKS)


@dataclass(frozen=True, slots=True)
class Timed:
    """What a kind's `timing` tells of one jail."""

    cpu_s: float | None
    """Of everything in the jail; None where the host cannot measure it."""
    broken: str = ""
    """Why it does not count: an answer was wrong, or there was none. Empty when all were right."""
    infra: bool = False
    """The host broke it."""


def applies(task: Task) -> str:
    """A kind can be timed when it has a module `kind_timing`; see `appliance.kinds.function_timing`."""
    return "" if _timing(task.kind) else f"a {task.kind} task cannot be timed"


def _timing(kind: str) -> ModuleType | None:
    name = f"{kind}_timing"
    known = {found.name for found in pkgutil.iter_modules(kinds.__path__)}
    return importlib.import_module(f"appliance.kinds.{name}") if name in known else None


def read(exhibit: Exhibit, wanted: Wanted) -> Reading:
    """Raw: the submission's CPU time divided by the gold's, both without what doing nothing takes."""
    key = (exhibit.task.task_hash, exhibit.task.image)
    if why := _known.get(key, lambda: _too_quick_to_time(exhibit)):
        return not_applicable(why)
    runs: dict[str, list[Timed]] = {name: [] for name in ("gold", "candidate", "idle")}
    for turn in range(ROUNDS):
        for name in _order(turn):
            found = _run(exhibit, name, turn)
            runs[name].append(found)
            if name == "candidate" and found.broken:
                return _broken(found.broken)
    return compared(runs)


def _run(exhibit: Exhibit, name: str, turn: int) -> Timed:
    """One jail of one of the three. SandboxError when the host broke it."""
    timing = _timing(exhibit.task.kind)
    assert timing is not None
    artefacts = {"gold": exhibit.gold, "candidate": exhibit.artefacts}.get(name)
    if artefacts is None:
        artefacts = timing.idle(exhibit.task)
    found: Timed = timing.timing(exhibit.task, artefacts, exhibit.jails, exhibit.seed + turn)
    if found.infra:
        raise SandboxError(f"a jail that was to be timed failed: {found.broken}")
    return found


def _too_quick_to_time(exhibit: Exhibit) -> str:
    """Decided once for a task, so that it holds for all submissions alike, and costs nothing from then on."""
    golds, idles = ([_run(exhibit, name, turn) for turn in range(ROUNDS)] for name in ("gold", "idle"))
    gold_s, idle_s = _least(golds), _least(idles)
    return "" if gold_s is None or idle_s is None else too_quick(gold_s, idle_s)


def too_quick(gold_s: float, idle_s: float, slack: float = 1.0) -> str:
    """Why the gold takes too little to compare with; empty when it takes enough."""
    if gold_s - idle_s >= slack * max(LEAST_S, LEAST_SHARE * idle_s):
        return ""
    return f"the gold takes {1000 * (gold_s - idle_s):.1f} ms, too little to compare with"


def _order(turn: int) -> Sequence[str]:
    """Forth and back, so that a drift of the machine falls on all alike."""
    forth = ("gold", "candidate", "idle")
    return forth if turn % 2 == 0 else forth[::-1]


def _broken(why: str) -> Reading:
    return Reading(WORTHLESS_TIMES, 0.0, (Remark("broken", "", 0, why),))


def compared(runs: Mapping[str, Sequence[Timed]]) -> Reading:
    """The reading of what was timed."""
    least = {name: _least(found) for name, found in runs.items()}
    gold_s, candidate_s, idle_s = least["gold"], least["candidate"], least["idle"]
    if gold_s is None or candidate_s is None or idle_s is None:
        return not_applicable("CPU time of a jail is not known on this machine")
    if any(found.broken for found in runs["gold"]):
        return not_applicable("the gold was not right when it was timed")
    # By half: whether a task is timed at all must not depend on the noise of one verdict.
    if why := too_quick(gold_s, idle_s, slack=0.5):
        return not_applicable(why)
    gold_net, candidate_net = gold_s - idle_s, candidate_s - idle_s
    ratio = max(candidate_net, 0.0) / gold_net
    told = (Remark("slow", "", 0, f"{ratio:.2f} times the gold's CPU time"),) if slowness(ratio) < 1 else ()
    return Reading(ratio, slowness(ratio), told, review=_review(ratio, candidate_net, idle_s))


def _least(found: Sequence[Timed]) -> float | None:
    known = [timed.cpu_s for timed in found if timed.cpu_s is not None]
    return min(known) if len(known) == len(found) and known else None


def slowness(ratio: float) -> float:
    """The value of a ratio: 1 up to the dead zone's end, then falling with its logarithm; never more for less."""
    if ratio <= 1 + DEAD_ZONE:
        return 1.0
    span = math.log(WORTHLESS_TIMES) - math.log(1 + DEAD_ZONE)
    return max(0.0, 1.0 - (math.log(ratio) - math.log(1 + DEAD_ZONE)) / span)


def _review(ratio: float, candidate_net: float, idle_s: float) -> str:
    """Why a time is hard to believe; empty when it is not."""
    if candidate_net < DEAD_ZONE * idle_s and ratio * IMPLAUSIBLE_TIMES < 1:
        return "as fast as doing nothing"
    return (
        f"more than {IMPLAUSIBLE_TIMES:g} times as fast as the gold" if ratio * IMPLAUSIBLE_TIMES < 1 else ""
    )
