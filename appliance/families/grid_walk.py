"""Walks on a grid: commands, edges, and what is asked of the path."""

from __future__ import annotations

import random

from appliance.families.form import Draft, Knob, Knobs, head, lines, tier_of

NAME, KIND = "grid-walk", "function"
SUMMARY = (
    "A walk on a grid by letters: edges that stop or wrap, walls, turns; where it ends or what it visits."
)
KNOBS = {"size": Knob(3, 9, 5, "side of the grid"), "walls": Knob(0, 6, 2, "cells that cannot be entered")}

ASKED = {
    "end": (
        "the cell it ends in, as `[row, column]`",
        "list[int]",
        "return [row, column]",
        "return [cell // SIZE, cell % SIZE]",
    ),
    "visited": (
        "how many different cells it was in, the first one included",
        "int",
        "return len(seen)",
        "return len(set(path))",
    ),
    "stopped": ("how many commands left it where it was", "int", "return stopped", "return stopped"),
}
EDGES = {
    "stop": "A command that would leave the grid leaves it where it is.",
    "wrap": "The grid has no edge: who leaves it on one side enters it on the opposite one.",
}
GENERATOR = """def cases(random):
    while True:
        count = random.choice([0, 1, 2, 4, 7, 12, 20, 30])
        favourite = random.choice({letters!r})
        yield ["".join(favourite if random.random() < 0.4 else random.choice({letters!r}) for _ in range(count))]
"""


def make(seed: str, knobs: Knobs) -> Draft:
    """The variant of a seed."""
    chance = random.Random(f"{NAME} {seed}")
    size = knobs["size"]
    letters = chance.choice(["UDLR", "NSWE", "wsad", "kjhl"])
    steps = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    cells = [(row, column) for row in range(size) for column in range(size)]
    start = chance.choice(cells)
    walls = sorted(chance.sample([cell for cell in cells if cell != start], knobs["walls"]))
    edge, asked = chance.choice(sorted(EDGES)), chance.choice(sorted(ASKED))
    what, returns, result, other_result = ASKED[asked]
    first = head("walk", "commands: str", returns, "Return what is asked of the walk.")
    moves = dict(zip(letters, steps, strict=True))
    if edge == "wrap":
        enter = f"next_row, next_column = (row + down) % {size}, (column + right) % {size}"
        blocked = "(next_row, next_column) in walls"
    else:
        enter = "next_row, next_column = row + down, column + right"
        blocked = (
            f"(next_row, next_column) in walls or not (0 <= next_row < {size} and 0 <= next_column < {size})"
        )
    gold = [
        f"moves = {moves!r}",
        f"walls = {walls!r}",
        f"row, column = {start!r}",
        "seen, stopped = {(row, column)}, 0",
        "for command in commands:",
        f"    down, right = moves[command]\n    {enter}",
        f"    if {blocked}:\n        stopped += 1\n        continue",
        "    row, column = next_row, next_column\n    seen.add((row, column))",
        result,
    ]
    other = _by_number(size, letters, start, walls, edge == "wrap", other_result)
    named = ", ".join(
        f"`{letter}` {word}" for letter, word in zip(letters, ("up", "down", "left", "right"), strict=True)
    )
    told = (
        f" These cells are walls: {', '.join(f'({r}, {c})' for r, c in walls)}. A command that would "
        "enter one leaves it where it is."
        if walls
        else ""
    )
    return Draft(
        f"A robot stands on a grid of {size} by {size} cells. Rows are counted from 0 at the top, "
        "columns from 0 at the left; "
        f"cell (1, 2) is in row 1 and column 2. It begins in cell {start}. Each command moves it by one "
        f"cell: {named}. "
        f"{EDGES[edge]}{told}\n\nWrite the function `walk(commands)`, which takes a text of these "
        "letters, perhaps an empty "
        f"one, and returns {what}.",
        tier_of(knobs, KNOBS),
        first,
        first + lines(*gold),
        first + lines(*other),
        GENERATOR.format(letters=letters),
        "walk",
    )


def _by_number(
    size: int, letters: str, start: tuple[int, int], walls: list[tuple[int, int]], wraps: bool, result: str
) -> list[str]:
    """The same walk over cells that are numbered."""
    return [
        f"SIZE, walls = {size}, {[row * size + column for row, column in walls]!r}",
        f"cell = {start[0] * size + start[1]}",
        "path, stopped = [cell], 0",
        "for command in commands:",
        f"    row, column = cell // SIZE, cell % SIZE\n    place = {letters!r}.index(command)",
        "    row, column = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + "
        "1)][place]",
        "    inside = 0 <= row < SIZE and 0 <= column < SIZE",
        f"    target = row % SIZE * SIZE + column % SIZE if inside or {wraps} else -1",
        "    if target < 0 or target in walls:\n        stopped += 1\n    else:\n        cell = target\n"
        "    path.append(cell)",
        result,
    ]
