"""Random cases of a `function` task: inputs from its generator, expected values from its gold solution.

Both are the task author's code, and each runs in a jail of its own, never in this process and never with a candidate.
The inputs are drawn from the seed of the judging, which the siblings of a group share, so they are drawn and answered
once for all of them. A generator or a gold that fails is the task's fault.

A relation is between two answers of the candidate, for what has more than one right answer. Constants satisfy most
relations: each family of them must come with a pair that `differs`, and the task with a case of known value.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from appliance import values
from appliance.dialogue import Broken, Dialogue
from appliance.errors import SandboxError
from appliance.examination import Finding, Opener, jail_finding
from appliance.kinds.function_cases import (
    RELATIONS,
    Answer,
    Case,
    Material,
    Pair,
    Question,
    judge_pair,
    raised,
    read_reply,
)
from appliance.kinds.function_jail import SOURCE, open_author
from appliance.nouns import Task
from appliance.orders import derive_seed
from appliance.sandbox.client import JailResult, Peer

KEPT = 64
"""Draws that are remembered, the last used ones."""
MAX_DRAW_KB = 4096
"""Of all inputs of one draw together."""

Key = tuple[str, str, int]


class Faulty(Exception):
    """The generator or the gold solution does not do what the task needs; the text says what."""


@dataclass(slots=True)
class _Slot:
    """One draw, made by whoever comes first while the others wait."""

    lock: threading.Lock
    questions: tuple[Question, ...] | None = None


_slots: OrderedDict[Key, _Slot] = OrderedDict()
_locked = threading.Lock()


def counts(task: Task) -> tuple[int, int]:
    """How many generated cases and related pairs a task asks for."""
    return int(task.settings.get("generated", 0)), int(task.settings.get("related", 0))


def draw(task: Task, found: Material, jails: Opener, seed: int) -> tuple[Question, ...] | Finding:
    """The random cases of a group. SandboxError for a host fault; what fails is tried again by the next sibling."""
    if not any(counts(task)):
        return ()
    slot = _slot((task.folder, task.task_hash, seed))
    with slot.lock:
        if slot.questions is None:
            try:
                slot.questions = _answered(task, found, jails, draw_inputs(task, found, jails, seed))
            except Faulty as fault:
                return Finding("task_broken", "hidden", "draw_failed", str(fault))
        return slot.questions


def _slot(key: Key) -> _Slot:
    with _locked:
        slot = _slots.setdefault(key, _Slot(threading.Lock()))
        _slots.move_to_end(key)
        while len(_slots) > KEPT:
            _slots.popitem(last=False)
        return slot


def draw_inputs(task: Task, found: Material, jails: Opener, seed: int) -> list[Question]:
    """Ask the generator; expected values are still missing. Raises Faulty when it does not do what the task needs."""
    cases, relations = counts(task)
    request = {"op": "draw", "cases": cases, "relations": relations}
    with open_author(task, jails, "function_generator", {"generator.py": found.generator}) as talk:
        dialogue = Dialogue(talk, MAX_DRAW_KB * 1024, 2 * float(task.settings["budgets"]["wall_s"]))
        seeded = {**request, "seed": derive_seed("draw", seed, task.task_hash)}
        reply = _replied(talk, dialogue, seeded, "tests/generator.py")
    match reply:
        case {"failed": str(text)}:
            raise Faulty(f"tests/generator.py: {text}")
        case {"cases": list(drawn), "relations": list(pairs)}:
            return _checked(task, len(found.hidden), drawn, pairs)
    raise Faulty("tests/generator.py: an answer of another shape")


def _replied(talk: Peer, dialogue: Dialogue, request: Mapping[str, Any], what: str) -> dict[str, Any]:
    """One answer of the task's own code. Faulty when there is none, SandboxError when that is the host's doing."""
    try:
        return dialogue.ask(request)
    except Broken as broken:
        result = talk.finish()
        _refuse_host_faults(result)
        raise Faulty(f"{what}: {result.detail or broken.text or broken.outcome}") from None


def _refuse_host_faults(result: JailResult) -> None:
    ending = jail_finding(result, "hidden")
    if ending is not None and ending.status == "infra":
        raise SandboxError(f"a jail for a draw: {ending.text or ending.outcome}", remedy="try again")


def _checked(task: Task, first: int, drawn: list[Any], pairs: list[Any]) -> list[Question]:
    """As many as were promised, of canonical values, and no family of relations that a constant satisfies."""
    cases, relations = counts(task)
    if (len(drawn), len(pairs)) != (cases, relations):
        raise Faulty(
            f"tests/generator.py: yields {len(drawn)} cases and {len(pairs)} relations, "
            f"pool.toml promises {cases} and {relations}"
        )
    tolerance = task.settings.get("tolerance")
    found: list[Question] = [
        Case("hidden", first + index, _tree(args), {}, tolerance=tolerance)
        for index, args in enumerate(drawn)
    ]
    families: dict[str, set[str]] = {}
    for index, pair in enumerate(pairs, first + cases):
        family, relation, one, other = pair if type(pair) is list and len(pair) == 4 else ("", pair, [], [])
        if relation not in RELATIONS:
            raise Faulty(f"tests/generator.py: {relation!r} is no relation; known: {', '.join(RELATIONS)}")
        families.setdefault(str(family), set()).add(relation)
        found.append(Pair("hidden", index, relation, _tree(one), _tree(other), tolerance))
    for family, known in families.items():
        if "differs" not in known:
            raise Faulty(f"tests/generator.py: the family {family!r} has no pair that differs")
    return found


def _tree(args: Any) -> list[values.Tree]:
    try:
        values.normal(args)
        if type(args) is not list:
            raise values.ValueFault("arguments that are no list")
    except values.ValueFault as error:
        raise Faulty(f"tests/generator.py: {error}") from None
    return list(args)


def _answered(task: Task, found: Material, jails: Opener, questions: list[Question]) -> tuple[Question, ...]:
    """Ask the gold solution, in a jail of its own, for what is to be expected."""
    with open_author(task, jails, "function_worker", {SOURCE: found.gold}) as talk:
        cap = int(task.settings["budgets"]["answer_kb"]) * 1024
        dialogue = Dialogue(talk, cap, 2 * float(task.settings["budgets"]["wall_s"]))

        def ask(args: list[values.Tree]) -> Answer:
            request = {"op": "call", "args": args, "kwargs": {}, "cap": cap}
            try:
                return read_reply(_replied(talk, dialogue, request, "the gold solution"))
            except Broken as broken:
                raise Faulty(f"the gold solution: {broken.text}") from None

        load = {"op": "load", "entry": task.entry_point}
        if _replied(talk, dialogue, load, "the gold solution") != {"loaded": True}:
            raise Faulty("the gold solution does not load")
        may_raise = tuple(task.settings.get("may_raise", ()))
        return tuple(_expecting(question, ask, may_raise) for question in questions)


def _expecting(question: Question, ask: Any, may_raise: tuple[str, ...]) -> Question:
    """A case with the gold's answer; a pair as it is, once the gold has been found to satisfy it."""
    if isinstance(question, Pair):
        outcome = judge_pair(question, ask(question.first), ask(question.second))
        if not outcome.correct:
            raise Faulty(f"the gold solution: {question.relation} does not hold, case {question.index}")
        return question
    answer = ask(question.args)
    parts = (question.layer, question.index, question.args, question.kwargs)
    if answer.outcome == "value":
        return Case(*parts, expected=answer.tree, tolerance=question.tolerance)
    for name in may_raise:
        if raised(name, answer.family):
            return Case(*parts, raises=name)
    raise Faulty(f"the gold solution: {answer.outcome} {answer.text}, case {question.index}")
