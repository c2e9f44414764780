"""Lists of integers sent through a few steps, one after the other."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from appliance.families.form import Draft, Knob, Knobs, head, lines, numbered, tier_of

NAME, KIND = "list-pipeline", "function"
SUMMARY = "A list of integers through a chain of steps: filters, arithmetic, order, neighbours."
KNOBS = {
    "steps": Knob(1, 7, 3, "steps in the chain"),
    "size": Knob(3, 30, 9, "largest constant of a step"),
}


@dataclass(frozen=True, slots=True)
class Step:
    """A step in words and in two ways of code; each leaves its result in `items`."""

    words: str
    code: str
    other: str


def _loop(test: str, value: str = "item") -> str:
    return f"found = []\nfor item in items:\n    if {test}:\n        found.append({value})\nitems = found"


MAKERS: dict[str, Callable[[random.Random, int], Step]] = {
    "above": lambda chance, size: _above(chance.randint(-size, size)),
    "multiples": lambda chance, size: _multiples(chance.randint(2, max(3, min(size, 7)))),
    "add": lambda chance, size: _add(chance.choice([-1, 1]) * chance.randint(1, size)),
    "times": lambda chance, size: _times(chance.randint(2, max(2, min(size, 9)))),
    "drop": lambda chance, size: _drop(chance.randint(1, 3)),
    "reverse": lambda chance, size: Step(
        "Reverse the order.", "items = items[::-1]", "items = list(reversed(items))"
    ),
    "every": lambda chance, size: _every(chance.randint(2, 3)),
    "running": lambda chance, size: Step(
        "Replace each item by the sum of all items up to and including it.",
        "items = [sum(items[: place + 1]) for place in range(len(items))]",
        "total, found = 0, []\nfor item in items:\n    total += item\n    found.append(total)\nitems = found",
    ),
    "clamp": lambda chance, size: _clamp(chance.randint(1, size)),
    "gaps": lambda chance, size: Step(
        "Replace the list by the differences of neighbours, each item minus the one before it"
        " (fewer than two items give an empty list).",
        "items = [after - before for before, after in zip(items, items[1:])]",
        "items = [items[place] - items[place - 1] for place in range(1, len(items))]",
    ),
    "runs": lambda chance, size: Step(
        "Of equal items in a row keep only the first.",
        "items = [item for place, item in enumerate(items) if place == 0 or item != items[place - 1]]",
        "found = []\nfor item in items:\n    if not found or found[-1] != item:\n"
        "        found.append(item)\nitems = found",
    ),
    "sort": lambda chance, size: Step(
        "Sort in ascending order.", "items = sorted(items)", "items = list(items)\nitems.sort()"
    ),
}


def _above(limit: int) -> Step:
    return Step(
        f"Keep only the items that are greater than {limit}.",
        f"items = [item for item in items if item > {limit}]",
        _loop(f"not item <= {limit}"),
    )


def _multiples(base: int) -> Step:
    return Step(
        f"Remove the items that are divisible by {base}.",
        f"items = [item for item in items if item % {base} != 0]",
        _loop(f"item % {base}"),
    )


def _add(number: int) -> Step:
    word = f"Add {number} to" if number > 0 else f"Subtract {-number} from"
    return Step(
        f"{word} every item.",
        f"items = [item + {number} for item in items]",
        _loop("True", f"{number} + item"),
    )


def _times(factor: int) -> Step:
    return Step(
        f"Multiply every item by {factor}.",
        f"items = [item * {factor} for item in items]",
        _loop("True", f"{factor} * item"),
    )


def _drop(count: int) -> Step:
    which = "item" if count == 1 else f"{count} items"
    return Step(
        f"Remove the first {which}, or all where there are no more.",
        f"items = items[{count}:]",
        f"items = [item for place, item in enumerate(items) if place >= {count}]",
    )


def _every(step: int) -> Step:
    name = {2: "second", 3: "third"}[step]
    return Step(
        f"Keep the first item and from there on every {name} one.",
        f"items = items[::{step}]",
        f"items = [item for place, item in enumerate(items) if place % {step} == 0]",
    )


def _clamp(limit: int) -> Step:
    return Step(
        f"Replace items greater than {limit} by {limit}, and items less than -{limit} by -{limit}.",
        f"items = [max(-{limit}, min({limit}, item)) for item in items]",
        f"items = [{limit} if item > {limit} else -{limit} if item < -{limit} else item for item in items]",
    )


GENERATOR = """def cases(random):
    near = {near}
    while True:
        count = random.choice([0, 1, 2, 3, 5, 8, 12])
        items = [random.choice([random.randint(-40, 40), random.choice(near)]) for _ in range(count)]
        if items and random.random() < 0.4:
            place = random.randrange(len(items))
            items[place:place] = [items[place]] * random.randint(1, 2)
        yield [items]
"""


def make(seed: str, knobs: Knobs) -> Draft:
    """The variant of a seed: no step comes twice in a row."""
    chance = random.Random(f"{NAME} {seed}")
    names: list[str] = []
    while len(names) < knobs["steps"]:
        name = chance.choice(sorted(MAKERS))
        if name not in names[-2:]:
            names.append(name)
    steps = [MAKERS[name](chance, knobs["size"]) for name in names]
    first = head("process", "items: list[int]", "list[int]", "Return the items after all steps.")
    statement = (
        "Write the function `process(items)`. It takes a list of integers and returns a new list, made "
        "by these steps in "
        f"this order:\n\n{numbered([step.words for step in steps])}\n\nThe list that was given is not "
        "changed."
    )
    near = sorted(
        {number + off for step in steps for number in _numbers(step.code) for off in (-1, 0, 1)} | {0}
    )
    return Draft(
        statement,
        tier_of(knobs, KNOBS),
        first,
        first + lines(*(step.code for step in steps), "return list(items)"),
        first + lines(*(step.other for step in steps), "return list(items)"),
        GENERATOR.format(near=near),
        "process",
    )


def _numbers(code: str) -> list[int]:
    words = code.replace("(", " ").replace(")", " ").replace(",", " ").replace("]", " ").split()
    return [int(word) for word in words if word.lstrip("-").isdigit()]
