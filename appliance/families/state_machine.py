"""A machine with a few states that reads letters."""

from __future__ import annotations

import random

from appliance.families.form import Draft, Knob, Knobs, head, lines, tier_of

NAME, KIND = "state-machine", "function"
SUMMARY = "A machine that reads letters: where it ends, how often it was somewhere, or when it stops."
KNOBS = {
    "states": Knob(2, 6, 3, "states of the machine"),
    "letters": Knob(2, 4, 2, "letters that it reads"),
}
NAMES = ["idle", "ready", "busy", "full", "hot", "done"]
ASKED = {
    "end": ("the name of the state it ends in", "state", "state"),
    "visits": (
        "how many letters it reads that bring it into `{name}`, from `{name}` itself or from another state",
        "count",
        "count",
    ),
    "stays": ("how many of the letters it reads leave it in the state that it was in", "count", "count"),
}

GENERATOR = """def cases(random):
    while True:
        yield ["".join(random.choice({letters!r}) for _ in range(random.choice([0, 1, 2, 3, 5, 8, 13, 21])))]
"""


def make(seed: str, knobs: Knobs) -> Draft:
    """The variant of a seed. Every state is reached, and the letters matter in each."""
    chance = random.Random(f"{NAME} {seed}")
    states = chance.sample(NAMES, knobs["states"])
    letters = "".join(sorted(chance.sample("abcdxyz", knobs["letters"])))
    table = _table(chance, states, letters)
    asked = chance.choice(sorted(ASKED))
    name = chance.choice(states[1:])
    test = {"end": "False", "visits": f'after == "{name}"', "stays": "after == state"}[asked]
    what, result = ASKED[asked][0].format(name=name), ASKED[asked][1]
    first = head(
        "run", "letters: str", "str" if result == "state" else "int", "Return what is asked of the machine."
    )
    body = [
        f"table = {table!r}",
        f'state, count = "{states[0]}", 0',
        f"for letter in letters:\n    after = table[state][letter]\n    count += {test}\n    state = after",
        f"return {result}",
    ]
    flat = {f"{state} {letter}": after for state, row in table.items() for letter, after in row.items()}
    other = [
        f"moves = {flat!r}",
        f'path = ["{states[0]}"]',
        'for letter in letters:\n    path.append(moves[path[-1] + " " + letter])',
        {
            "end": "return path[-1]",
            "visits": f'return path[1:].count("{name}")',
            "stays": "return sum(before == after for before, after in zip(path, path[1:]))",
        }[asked],
    ]
    return Draft(
        f"A machine reads letters one after the other, and begins in the state `{states[0]}`. Where "
        "each letter brings it:\n\n"
        f"{_drawn(table, letters)}\n\nWrite the function `run(letters)`, which takes a text of these "
        "letters, perhaps an "
        f"empty one, and returns {what}.",
        tier_of(knobs, KNOBS),
        first,
        first + lines(*body),
        first + lines(*other),
        GENERATOR.format(letters=letters),
        "run",
    )


def _table(chance: random.Random, states: list[str], letters: str) -> dict[str, dict[str, str]]:
    """Each state leads to the next with one of the letters, so that all are reached; the others are drawn."""
    table = {state: {letter: chance.choice(states) for letter in letters} for state in states}
    for state, following in zip(states, states[1:] + states[:1], strict=True):
        step = chance.choice(letters)
        table[state][step] = following
        if len(set(table[state].values())) == 1:
            table[state][next(letter for letter in letters if letter != step)] = state
    return table


def _drawn(table: dict[str, dict[str, str]], letters: str) -> str:
    rows = [
        "| state | " + " | ".join(f"`{letter}`" for letter in letters) + " |",
        "|---" * (len(letters) + 1) + "|",
    ]
    rows += [
        f"| `{state}` | " + " | ".join(f"`{row[letter]}`" for letter in letters) + " |"
        for state, row in table.items()
    ]
    return "\n".join(rows)
