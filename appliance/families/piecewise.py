"""Rules with conditions on two integers: the first that holds decides."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.families.form import Draft, Knob, Knobs, head, lines, numbered, tier_of

NAME, KIND = "piecewise", "function"
SUMMARY = "Ordered rules on two integers: the first whose condition holds says the result."
KNOBS = {
    "rules": Knob(1, 6, 3, "rules before the last one"),
    "size": Knob(3, 40, 9, "largest constant"),
}
GRID = range(-60, 61, 5)
LEAST = 12
"""Of the 625 pairs of the grid: what decides fewer is hardly asked for, and a fault there is not seen."""


@dataclass(frozen=True, slots=True)
class Said:
    """Something in words and twice in code."""

    words: str
    code: str
    other: str


def _condition(chance: random.Random, size: int) -> Said:
    number, base = chance.randint(-size, size), chance.randint(2, 6)
    name, second = chance.sample(["a", "b"], 2)
    return chance.choice(
        [
            Said(f"`{name}` is greater than {number}", f"{name} > {number}", f"not {name} <= {number}"),
            Said(f"`{name}` is at most {number}", f"{name} <= {number}", f"{number} >= {name}"),
            Said(f"`{name}` is divisible by {base}", f"{name} % {base} == 0", f"not {name} % {base}"),
            Said(f"`a + b` is less than {number}", f"a + b < {number}", f"{number} > b + a"),
            Said(
                f"`{name}` is greater than `{second}` by {base} or more",
                f"{name} - {second} >= {base}",
                f"{name} >= {second} + {base}",
            ),
        ]
    )


def _conditions(chance: random.Random, knobs: Knobs) -> list[Said]:
    """Conditions that differ in more than a number, each of which decides some inputs and leaves some to the next."""
    while True:
        found: list[Said] = []
        while len(found) < knobs["rules"]:
            one = _condition(chance, knobs["size"])
            if one.words.rstrip("-0123456789") not in {known.words.rstrip("-0123456789") for known in found}:
                found.append(one)
        if all(times >= LEAST for times in decided([test.code for test in found])):
            return found


def decided(conditions: Sequence[str]) -> list[int]:
    """How many pairs of a grid each condition decides, and, last, how many none does."""
    tests = [eval(f"lambda a, b: {code}") for code in conditions]
    counts = [0] * (len(tests) + 1)
    for a in GRID:
        for b in GRID:
            counts[next((place for place, test in enumerate(tests) if test(a, b)), len(tests))] += 1
    return counts


def _result(chance: random.Random, size: int) -> Said:
    number, factor = chance.randint(1, size), chance.randint(2, 5)
    name, second = chance.sample(["a", "b"], 2)
    return chance.choice(
        [
            Said(f"`{name}` plus {number}", f"{name} + {number}", f"{number} + {name}"),
            Said(
                f"{factor} times `{name}` minus `{second}`",
                f"{factor} * {name} - {second}",
                f"-{second} + {name} * {factor}",
            ),
            Said(f"the product of `a` and `b`, less {number}", f"a * b - {number}", f"b * a + -{number}"),
            Said(
                f"the greater of `a` and `b`, plus {number}",
                f"max(a, b) + {number}",
                f"(a if a > b else b) + {number}",
            ),
            Said(
                f"the distance of `{name}` from {number}",
                f"abs({name} - {number})",
                f"abs({number} - {name})",
            ),
        ]
    )


GENERATOR = """def cases(random):
    near = {near}
    bases = {bases}
    while True:
        a, b = (random.choice([random.randint(-60, 60), random.choice(near)]) for _ in "ab")
        turn = random.random()
        if turn < 0.2:
            a = b + random.choice(near)
        elif turn < 0.4:
            b = random.choice(near) - a
        elif turn < 0.5:
            a *= random.choice(bases)
        yield [a, b]
"""


def make(seed: str, knobs: Knobs) -> Draft:
    """The variant of a seed: conditions that differ, and neighbouring results that differ."""
    chance = random.Random(f"{NAME} {seed}")
    conditions = _conditions(chance, knobs)
    results: list[Said] = []
    while len(results) <= knobs["rules"]:
        new = _result(chance, knobs["size"])
        if new.code not in {known.code for known in results}:
            results.append(new)
    rules = [f"If {test.words}: {value.words}." for test, value in zip(conditions, results, strict=False)]
    rules.append(f"Otherwise: {results[-1].words}.")
    first = head("decide", "a: int, b: int", "int", "Return what the first rule that holds says.")
    gold = [
        f"if {test.code}:\n    return {value.code}" for test, value in zip(conditions, results, strict=False)
    ]
    other = f"result = {results[-1].other}\n"
    for test, value in list(zip(conditions, results, strict=False))[::-1]:
        other += f"if {test.other}:\n    result = {value.other}\n"
    constants = {
        abs(int(word)) for test in conditions for word in test.code.split() if word.lstrip("-").isdigit()
    }
    near = sorted(
        {sign * number + off for number in constants for sign in (-1, 1) for off in (-1, 0, 1)} | {0}
    )
    return Draft(
        "Write the function `decide(a, b)` of two integers. It returns what the first of these rules "
        "whose condition holds"
        f" says:\n\n{numbered(rules)}",
        tier_of(knobs, KNOBS),
        first,
        first + lines(*gold, f"return {results[-1].code}"),
        first + lines(other, "return result"),
        GENERATOR.format(near=near, bases=sorted(number for number in constants if number > 1) or [2]),
        "decide",
    )
