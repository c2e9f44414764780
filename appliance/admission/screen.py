"""The equivalence screen of `function` tasks: does a mutant ever answer otherwise than the gold?

Both are asked the same random inputs in jails. Inputs come from the task's generator; without one they are drawn from
what the cases pass at each place (numbers between the least and the largest seen, texts and lists over what occurs
in them), so that they stay in the domain that the author showed, and over the constants that the gold compares with,
as fuzzers do, so that a branch for one word is reached. What never differs is taken for equivalent.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from appliance import values
from appliance.dialogue import Broken, Dialogue
from appliance.examination import Opener
from appliance.kinds.function_cases import Case, material, read_reply
from appliance.kinds.function_draw import Faulty, draw_inputs
from appliance.kinds.function_jail import SOURCE, open_author
from appliance.nouns import Task

INPUTS = 5000
_PER_JAIL = 1250
"""One jail's CPU time must do for so many answers."""
_PLACES = 200
"""Cases whose values are looked at."""

Args = list[values.Tree]


class Screen:
    """Answers of the gold to random inputs, made when first needed."""

    def __init__(self, task: Task, jails: Opener, seed: int, count: int = INPUTS) -> None:
        self._task, self._jails = task, jails
        self._inputs = inputs(task, jails, seed, count)
        self._gold: list[bytes] | None = None

    @property
    def size(self) -> int:
        """How many inputs there are; 0 where nothing shows what the function takes."""
        return len(self._inputs)

    def equivalent(self, source: str) -> bool:
        """Whether a mutant answers every input as the gold does."""
        if not self._inputs:
            return False
        if self._gold is None:
            self._gold = answers(self._task, self._jails, material(self._task).gold, self._inputs)
        return answers(self._task, self._jails, source.encode(), self._inputs) == self._gold


def inputs(task: Task, jails: Opener, seed: int, count: int) -> list[Args]:
    """Random argument lists: from the generator, else like those of the cases; none where there are no cases."""
    found = material(task)
    if found.generator:
        asked = replace(task, settings={**task.settings, "generated": count, "related": 0})
        try:
            drawn = draw_inputs(asked, found, jails, seed)
            return [question.args for question in drawn if isinstance(question, Case)]
        except Faulty:
            pass  # a generator that ends early: the cases show the domain
    cases = [case.args for case in (*found.public, *found.hidden) if not case.kwargs][:_PLACES]
    return like(cases, random.Random(seed), count, constants(found.gold))


def constants(source: bytes) -> list[Any]:
    """The numbers and texts that a Python source holds."""
    found = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return [value for value in found if type(value) in (int, float, str)]


def like(cases: Sequence[Args], draw: random.Random, count: int, known: Sequence[Any] = ()) -> list[Args]:
    """Argument lists of the lengths seen, each place drawn from its own values and, at times, from those `known`."""
    found: list[Args] = []
    for _ in range(count if cases else 0):
        shape = draw.choice(cases)
        peers = [case for case in cases if len(case) == len(shape)]
        found.append([_drawn([case[place] for case in peers], draw, known) for place in range(len(shape))])
    return found


def _drawn(seen: Sequence[Any], draw: random.Random, known: Sequence[Any]) -> Any:
    """A value like one of those seen: of its type, within their bounds, made of their parts."""
    one = draw.choice(seen)
    alike = [value for value in seen if type(value) is type(one)]
    fitting = [value for value in known if type(value) is type(one)]
    if draw.random() < 0.2:
        return one
    if type(one) in (int, float):
        return _number(min(alike), max(alike), draw, fitting)
    if type(one) is str:
        return _word(alike, draw, fitting)
    if type(one) is list:
        parts = [part for value in alike for part in value]
        return [_drawn(parts, draw, known) for _ in range(len(draw.choice(alike)))] if parts else one
    if type(one) is dict:
        return _table(one, alike, draw, known)
    return one


def _number(least: Any, most: Any, draw: random.Random, known: Sequence[Any]) -> Any:
    near = [value + step for value in known for step in (-1, 0, 1) if least <= value + step <= most]
    if near and draw.random() < 0.2:
        return draw.choice(near)
    return draw.randint(least, most) if type(least) is int else round(draw.uniform(least, most), 3)


def _word(alike: Sequence[str], draw: random.Random, known: Sequence[str]) -> str:
    letters = "".join(alike)
    size = len(draw.choice(alike))
    word = "".join(draw.choice(letters) for _ in range(size)) if letters else ""
    if known and draw.random() < 0.3:
        # Alone, or somewhere in a word.
        place = draw.randint(0, len(word))
        return draw.choice(["", word[:place]]) + draw.choice(known) + draw.choice(["", word[place:]])
    return word


def _table(one: dict[str, Any], alike: Sequence[Any], draw: random.Random, known: Sequence[Any]) -> Any:
    """The same keys with other values; a tuple, which is written as a table, with other parts."""
    if set(one) == {"$tuple"}:
        peers = [value["$tuple"] for value in alike if set(value) == {"$tuple"}]
        parts = [peer for peer in peers if len(peer) == len(one["$tuple"])]
        return {"$tuple": [_drawn([p[n] for p in parts], draw, known) for n in range(len(one["$tuple"]))]}
    if any(name.startswith("$") for name in one):
        return one
    return {name: _drawn([v[name] for v in alike if name in v], draw, known) for name in one}


def answers(task: Task, jails: Opener, source: bytes, asked: Sequence[Args]) -> list[bytes]:
    """One text per input: the value, the exception's class, or how the conversation ended, after which none follow."""
    found: list[bytes] = []
    for start in range(0, len(asked), _PER_JAIL):
        part = _conversation(task, jails, source, asked[start : start + _PER_JAIL])
        found += part
        if part[-1].startswith(b"!ended"):
            break
    return found


def _conversation(task: Task, jails: Opener, source: bytes, asked: Sequence[Args]) -> list[bytes]:
    budgets, found = task.settings["budgets"], []
    cap = int(budgets["answer_kb"]) * 1024
    with open_author(task, jails, "function_worker", {SOURCE: source}) as talk:
        dialogue = Dialogue(talk, cap, 2 * float(budgets["wall_s"]))
        try:
            if dialogue.ask({"op": "load", "entry": task.entry_point}) != {"loaded": True}:
                return [b"!ended not loaded"]
            for args in asked:
                reply = dialogue.ask({"op": "call", "args": args, "kwargs": {}, "cap": cap})
                found.append(_text(read_reply(reply), task.settings.get("tolerance")))
            dialogue.end()
        except Broken as broken:
            found.append(b"!ended " + broken.outcome.encode())
        talk.finish()
    return found


def _text(answer: Any, tolerance: float | None) -> bytes:
    """Equal texts for equal answers; floats of a task with a tolerance are told to nine digits."""
    if answer.outcome != "value":
        return f"!{answer.outcome} {answer.family[:1]}".encode()
    tree = answer.tree
    return values.dumps(round(tree, 9) if tolerance and type(tree) is float else tree)
