"""Programs that read records and print a table."""

from __future__ import annotations

import random

from appliance.families.form import Draft, Knob, Knobs, numbered, tier_of

NAME, KIND = "report", "stdio"
SUMMARY = "A program that reads records, leaves some out, groups the others and prints a sorted table."
KNOBS = {"filters": Knob(0, 3, 1, "conditions on records"), "columns": Knob(1, 3, 2, "columns of the table")}

THEMES = [
    ("deliveries", ["depot", "driver"], "parcels", ["north", "south", "east", "harbour", "mill"]),
    ("harvests", ["field", "crop"], "crates", ["upper", "lower", "hill", "river", "barn"]),
    ("repairs", ["shop", "mechanic"], "minutes", ["anna", "bert", "cleo", "dora", "emil"]),
]
COLUMNS = {
    "sum": ("the sum of their {n}", "sum(row[2] for row in rows)", "total(rows)"),
    "count": ("how many there are", "len(rows)", "sum(1 for row in rows)"),
    "most": (
        "the greatest of their {n}",
        "max(row[2] for row in rows)",
        "sorted(row[2] for row in rows)[-1]",
    ),
    "least": ("the least of their {n}", "min(row[2] for row in rows)", "sorted(row[2] for row in rows)[0]"),
    "others": (
        "how many different values of `{o}` they have",
        "len({{row[1] for row in rows}})",
        "len(dict.fromkeys(row[1] for row in rows))",
    ),
}
GOLD = '''import sys


def answer(text):
    """The table for the records of a text."""
    groups = {{}}
    for line in text.splitlines():
        first, second, number = line.split({mark!r})
        row = (first, second, int(number))
        if {kept}:
            groups.setdefault(row[0], []).append(row)
    lines = []
    for name, rows in groups.items():
        lines.append((name, {cells}))
    lines.sort(key=lambda line: ({order}line[0]))
    return "".join(" ".join(map(str, line)) + "\\n" for line in lines) or "nothing\\n"


if __name__ == "__main__":
    sys.stdout.write(answer(sys.stdin.read()))
'''
OTHER = """import sys

total = lambda rows: sum([number for _, _, number in rows])
kept = []
for line in sys.stdin:
    row = line.rstrip("\\n").split({mark!r})
    row[2] = int(row[2])
    if {skipped}:
        continue
    kept.append(row)
table = []
for name in sorted(set(row[0] for row in kept)):
    rows = [row for row in kept if row[0] == name]
    table.append([name, {cells}])
{sort}
for line in table:
    print(*line)
if not table:
    print("nothing")
"""
GENERATOR = '''"""Records number CASE for SEED."""

import random
import sys


def case(chance):
    names, near = {names!r}, {near!r}
    rows = []
    for _ in range(chance.choice([0, 1, 3, 6, 12, 25])):
        number = chance.choice([chance.randint(1, 60), chance.choice(near)])
        rows.append({mark!r}.join([chance.choice(names), chance.choice(names[1:] + ["x", "y"]), str(number)]))
    return "".join(row + "\\n" for row in rows)


if __name__ == "__main__":
    sys.stdout.write(case(random.Random(f"{{sys.argv[1]}} records {{sys.argv[2]}}")))
'''


def make(seed: str, knobs: Knobs) -> Draft:
    """The variant of a seed."""
    chance = random.Random(f"{NAME} {seed}")
    theme, (group, other), unit, names = chance.choice(THEMES)
    mark = chance.choice([";", ",", ":", "|"])
    filters = _filters(chance, knobs["filters"], other, unit, names)
    chosen = chance.sample(sorted(COLUMNS), knobs["columns"])
    cells = [tuple(part.format(n=unit, o=other) for part in COLUMNS[name]) for name in chosen]
    by_first = chance.random() < 0.6
    order = (
        f"the {_ordinal(2)} column, the greatest first, and where that is equal by name"
        if by_first
        else "name"
    )
    words = [f"the {group}", *(cell[0] for cell in cells)]
    left_out = "".join(f" {item[0]}" for item in filters)
    sort = "table.sort(key=lambda line: line[1], reverse=True)" if by_first else "table = list(table)"
    near = sorted({number + off for item in filters for number in item[3] for off in (-1, 0, 1)} | {5})
    return Draft(
        f"A program reads {theme} from standard input, one a line, as "
        f"`{group}{mark}{other}{mark}{unit}`: two words and a whole "
        f"number of at least 0. There may be no line at all.{left_out}\n\nFor each {group} that is left "
        "it prints one line with "
        f"these columns, separated by single spaces:\n\n{numbered(words)}\n\nThe lines are sorted by "
        f"{order}. Names are compared "
        "as Python compares texts. When no record is left it prints `nothing`.",
        tier_of(knobs, KNOBS),
        "import sys\n\nlines = sys.stdin.read().splitlines()\n",
        GOLD.format(
            mark=mark,
            kept=" and ".join(item[1] for item in filters) or "row",
            cells=", ".join(cell[1] for cell in cells).replace("{{", "{").replace("}}", "}"),
            order="-line[1], " if by_first else "",
        ),
        OTHER.format(
            mark=mark,
            skipped=" or ".join(item[2] for item in filters) or "not row",
            cells=", ".join(cell[2] for cell in cells),
            sort=sort,
        ),
        GENERATOR.format(names=names, near=near, mark=mark),
    )


def _ordinal(number: int) -> str:
    return {2: "second"}[number]


def _filters(
    chance: random.Random, count: int, other: str, unit: str, names: list[str]
) -> list[tuple[str, str, str, list[int]]]:
    """Sentence, test of what is kept, test of what is skipped, and the constants in it."""
    least, most, base = chance.randint(5, 25), chance.randint(35, 55), chance.randint(3, 7)
    name = chance.choice(names[1:])
    made = [
        (
            f"Records with fewer than {least} {unit} are left out.",
            f"row[2] >= {least}",
            f"row[2] < {least}",
            [least],
        ),
        (
            f"Records with more than {most} {unit} are left out.",
            f"row[2] <= {most}",
            f"not row[2] <= {most}",
            [most],
        ),
        (
            f"Records whose {other} is `{name}` are left out.",
            f"row[1] != {name!r}",
            f"row[1] == {name!r}",
            [],
        ),
        (
            f"Records whose number of {unit} is divisible by {base} are left out.",
            f"row[2] % {base} != 0",
            f"not row[2] % {base}",
            [base, 2 * base],
        ),
    ]
    return chance.sample(made, count)
