"""V8: the attacks that are known on a kind earn nothing on this task either."""

from __future__ import annotations

import re
from collections.abc import Iterator

from appliance.admission.check import Check
from appliance.admission.golds import Files, Judged
from appliance.attacks import Attack
from appliance.attacks.run import kinds, shipped
from appliance.kinds import load_kind
from appliance.nouns import Task

_SLOW = {"candidate_timeout", "candidate_resource"}
_HEAD = re.compile(rb"\bdef describe\(numbers(?:, /)?\):")


def check(task: Task, judged: Judged) -> Check:
    """Judge every quick attack of the kind, its program renamed to what this task asks for."""
    name = "attacks earn nothing"
    if task.kind not in kinds() or task.kind == "repo":
        # Attacks on repositories are written into one code base each: `appliance judge attack` runs them there.
        return Check("V8", name, "not_applicable")
    known = list(attacks(task))
    verdicts = judged([files for _, files in known], [0] * len(known))
    earned = [
        f"{attack.id} {attack.name}"
        for (attack, _), verdict in zip(known, verdicts, strict=True)
        if verdict.reward
    ]
    measured = {
        "tried": len(known),
        "earned": earned[:10],
        "masked": sum(verdict.masked for verdict in verdicts),
    }
    if not earned:
        return Check("V8", name, "passed", measured)
    return Check(
        "V8", name, "failed", measured, f"{earned[0]} earned a reward", "mend the tests or the judge"
    )


def attacks(task: Task) -> Iterator[tuple[Attack, Files]]:
    """Those that do not live by wasting time or memory: these cost seconds each and say nothing about a task."""
    wanted = load_kind(task.kind).lone(task)
    for own, what in shipped(task.kind):
        if not isinstance(what, Attack) or _SLOW & set(what.required):
            continue
        lone = load_kind(own.kind).lone(own)
        files = {wanted if name == lone else name: body for name, body in what.files.items()}
        if task.kind == "function":
            files = {name: _renamed(body, task) for name, body in files.items()}
        yield what, files


def _renamed(body: bytes, task: Task) -> bytes:
    head = f"def {task.entry_point}(numbers=None, *more, **named):".encode()
    return re.sub(rb"\bdescribe\b", task.entry_point.encode(), _HEAD.sub(head, body))
