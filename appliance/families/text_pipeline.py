"""Texts sent through a few steps, one after the other."""

from __future__ import annotations

import random
from collections.abc import Callable

from appliance.families.form import Draft, Knob, Knobs, head, lines, numbered, tier_of
from appliance.families.list_pipeline import Step

NAME, KIND = "text-pipeline", "function"
SUMMARY = "A text through a chain of steps: letters replaced, words moved, pieces cut."
KNOBS = {"steps": Knob(1, 6, 2, "steps in the chain")}
LETTERS = "abcdeinorst"


def _swap(chance: random.Random) -> Step:
    one, other = chance.sample(LETTERS, 2)
    return Step(
        f"Replace every `{one}` by `{other}` and, at the same time, every `{other}` by `{one}`.",
        f'text = text.translate(str.maketrans("{one}{other}", "{other}{one}"))',
        f'text = "".join("{other}" if sign == "{one}" else "{one}" if sign == "{other}" else sign for sign in text)',
    )


def _remove(chance: random.Random) -> Step:
    gone = chance.choice(LETTERS)
    return Step(
        f"Remove every `{gone}`.",
        f'text = text.replace("{gone}", "")',
        f'text = "".join(sign for sign in text if sign != "{gone}")',
    )


def _double(chance: random.Random) -> Step:
    twice = chance.choice(LETTERS)
    return Step(
        f"Write every `{twice}` twice.",
        f'text = text.replace("{twice}", "{twice * 2}")',
        f'text = "".join(sign * 2 if sign == "{twice}" else sign for sign in text)',
    )


def _rotate(chance: random.Random) -> Step:
    count = chance.randint(1, 4)
    which = "character" if count == 1 else f"{count} characters"
    return Step(
        f"Move the first {which} to the end, in their order (a text that is not longer stays as it is).",
        f"text = text[{count}:] + text[:{count}]",
        f"text = text if len(text) <= {count} else "
        f'"".join(text[(place + {count}) % len(text)] for place in range(len(text)))',
    )


def _cut(chance: random.Random) -> Step:
    count = chance.randint(4, 12)
    return Step(
        f"Keep at most the first {count} characters.",
        f"text = text[:{count}]",
        f'text = "".join(sign for place, sign in enumerate(text) if place < {count})',
    )


def _long_words(chance: random.Random) -> Step:
    count = chance.randint(2, 5)
    return Step(
        f"Remove the words of fewer than {count} characters. Words are what `split()` makes; what is "
        "left is joined with"
        " single spaces.",
        f'text = " ".join(word for word in text.split() if len(word) >= {count})',
        f"kept = []\nfor word in text.split():\n    if not len(word) < {count}:\n"
        '        kept.append(word)\ntext = " ".join(kept)',
    )


MAKERS: dict[str, Callable[[random.Random], Step]] = {
    "swap": _swap,
    "remove": _remove,
    "double": _double,
    "rotate": _rotate,
    "cut": _cut,
    "long words": _long_words,
    "reverse": lambda chance: Step(
        "Reverse the text.", "text = text[::-1]", 'text = "".join(reversed(text))'
    ),
    "words back": lambda chance: Step(
        "Put the words in the opposite order. Words are what `split()` makes; they are joined with "
        "single spaces.",
        'text = " ".join(text.split()[::-1])',
        'text = " ".join(reversed(text.split()))',
    ),
    "capital": lambda chance: Step(
        "Make the first character upper case and leave the others as they are.",
        "text = text[:1].upper() + text[1:]",
        'text = "".join(sign.upper() if place == 0 else sign for place, sign in enumerate(text))',
    ),
}
GENERATOR = """def cases(random):
    letters = {letters!r} + "XY"
    while True:
        count = random.choice([0, 1, 2, 3, 4, 6])
        words = ["".join(random.choice(letters) for _ in range(random.randint(1, 7))) for _ in range(count)]
        yield [random.choice([" ", " ", "  "]).join(words) + random.choice(["", "", " "])]
"""


def make(seed: str, knobs: Knobs) -> Draft:
    """The variant of a seed: no step comes twice in a row."""
    chance = random.Random(f"{NAME} {seed}")
    names: list[str] = []
    while len(names) < knobs["steps"]:
        name = chance.choice(sorted(MAKERS))
        if name not in names[-2:]:
            names.append(name)
    steps = [MAKERS[name](chance) for name in names]
    first = head("rewrite", "text: str", "str", "Return the text after all steps.")
    statement = (
        "Write the function `rewrite(text)`. It returns what these steps, in this order, make of a text:\n\n"
        f"{numbered([step.words for step in steps])}"
    )
    return Draft(
        statement,
        tier_of(knobs, KNOBS),
        first,
        first + lines(*(step.code for step in steps), "return text"),
        first + lines(*(step.other for step in steps), "return text"),
        GENERATOR.format(letters=LETTERS),
        "rewrite",
    )
